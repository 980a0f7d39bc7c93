"""The template as CloudFormation would see it for one set of parameters.

Decides conditions and resolves intrinsic functions, after SAM's own translator has run. What only the cloud knows (an
ARN, a generated name) becomes a text such as `<Table.Arn>`. Refuses whatever it does not know, so that a template
cannot outgrow the tests unnoticed.
"""

import copy
import re

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

PSEUDO = {
    "AWS::Region": "eu-central-1",
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::StackName": "limiter-aggregator",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::StackId": "arn:aws:cloudformation:eu-central-1:123456789012:stack/limiter-aggregator/1",
}
NOTHING = object()


class Refused(Exception):
    """CloudFormation would not take these parameters."""


def load(path):
    return yaml_parse(path.read_text())


def translated(template, parameters):
    """What SAM's translator makes of the template; conditions and intrinsic functions are left in it."""

    class Session:
        region_name = PSEUDO["AWS::Region"]

    uploaded = copy.deepcopy(template)
    for resource in uploaded["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            # Where `sam deploy` would have put the built code.
            resource["Properties"]["CodeUri"] = "s3://artifacts/code"
    translator = Translator({}, Parser(), boto_session=Session())
    return translator.translate(uploaded, dict(parameters))


class Form:
    """The resources, outputs and parameters of the template for one set of parameters."""

    def __init__(self, template, **given):
        self.parameters = checked_parameters(template, given)
        translation = translated(template, self.parameters)
        self._conditions = translation.get("Conditions", {})
        self._raw = translation["Resources"]
        check_rules(template, self)
        self.resources = {
            name: self.resolve({key: value for key, value in resource.items() if key != "Condition"})
            for name, resource in self._raw.items()
            if self._exists(resource)
        }
        self.outputs = {
            name: self.resolve(output["Value"])
            for name, output in translation.get("Outputs", {}).items()
            if self._exists(output)
        }

    def of_type(self, kind):
        return {name: res for name, res in self.resources.items() if res["Type"] == kind}

    def only(self, kind):
        (resource,) = self.of_type(kind).values()
        return resource["Properties"]

    def _exists(self, resource):
        return "Condition" not in resource or self.condition(resource["Condition"])

    def condition(self, name):
        return self._truth(self._conditions[name])

    def _truth(self, expression):
        ((function, argument),) = expression.items()
        match function:
            case "Condition":
                return self.condition(argument)
            case "Fn::Equals":
                left, right = (self.resolve(side) for side in argument)
                return left == right
            case "Fn::Not":
                return not self._truth(argument[0])
            case "Fn::And":
                return all(self._truth(part) for part in argument)
            case "Fn::Or":
                return any(self._truth(part) for part in argument)
        raise AssertionError(f"no condition function: {function}")

    truth = _truth

    def resolve(self, value):
        if isinstance(value, list):
            resolved = (self.resolve(item) for item in value)
            return [item for item in resolved if item is not NOTHING]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((function, argument),) = value.items()
            if function == "Ref" or function.startswith("Fn::"):
                return self._call(function, argument)
        resolved = {key: self.resolve(item) for key, item in value.items()}
        return {key: item for key, item in resolved.items() if item is not NOTHING}

    def _call(self, function, argument):
        match function:
            case "Ref":
                return self._reference(argument)
            case "Fn::GetAtt":
                parts = argument.split(".", 1) if isinstance(argument, str) else argument
                assert self._exists(self._raw[parts[0]]), f"{parts[0]} does not exist in this form"
                return f"<{parts[0]}.{parts[1]}>"
            case "Fn::If":
                condition, yes, no = argument
                return self.resolve(yes if self.condition(condition) else no)
            case "Fn::Sub":
                return self._substitute(argument)
            case "Fn::Join":
                separator, parts = argument
                return separator.join(self.resolve(parts))
            case "Fn::Split":
                separator, text = argument
                return self.resolve(text).split(separator)
            case "Fn::Select":
                place, parts = argument
                return self.resolve(parts)[int(place)]
        raise AssertionError(f"no intrinsic function known here: {function}")

    def _reference(self, name):
        if name == "AWS::NoValue":
            return NOTHING
        if name in PSEUDO:
            return PSEUDO[name]
        if name in self.parameters:
            return self.parameters[name]
        assert self._exists(self._raw[name]), f"{name} does not exist in this form"
        return f"<{name}>"

    def _substitute(self, argument):
        text, own = (argument, {}) if isinstance(argument, str) else argument

        def put(match):
            name = match.group(1)
            if name in own:
                return str(self.resolve(own[name]))
            return str(self._call("Fn::GetAtt", name) if "." in name else self._reference(name))

        return re.sub(r"\$\{([A-Za-z0-9:.]+)\}", put, text)


def checked_parameters(template, given):
    """Every parameter's value, as CloudFormation would take or refuse it."""
    declared = template["Parameters"]
    unknown = set(given) - set(declared)
    if unknown:
        raise Refused(f"unknown parameters: {sorted(unknown)}")
    values = {}
    for name, rules in declared.items():
        value = given.get(name, rules.get("Default"))
        if value is None:
            raise Refused(f"{name} has no value")
        text = str(value)
        if "AllowedValues" in rules and text not in map(str, rules["AllowedValues"]):
            raise Refused(f"{name} cannot be {text!r}")
        if not re.fullmatch(rules.get("AllowedPattern", ".*"), text):
            raise Refused(f"{name} cannot be {text!r}")
        if rules["Type"] == "Number":
            number = float(text)
            if not rules.get("MinValue", number) <= number <= rules.get("MaxValue", number):
                raise Refused(f"{name} cannot be {text}")
            values[name] = int(number)
        elif rules["Type"] == "CommaDelimitedList":
            values[name] = text.split(",")
        else:
            values[name] = text
    return values


def check_rules(template, form):
    for rule in template.get("Rules", {}).values():
        if "RuleCondition" in rule and not form.truth(rule["RuleCondition"]):
            continue
        for assertion in rule["Assertions"]:
            if not form.truth(assertion["Assert"]):
                raise Refused(assertion["AssertDescription"])
