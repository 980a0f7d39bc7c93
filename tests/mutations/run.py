#!/usr/bin/env python3
"""Applies every mutation to a copy of the tree and runs the simulation until each is caught.

The planning code itself carries no hooks: in the copy every mutation is a switch read from the environment, so that one
build serves all. A patch whose text is no longer found is an error: the mutation must follow the code.
Usage: tests/mutations/run.py [--seeds N] [--only NAME,NAME] [--target DIR]
"""
import argparse, os, pathlib, re, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
W, L, F = "src/plan/refill/write.rs", "src/plan/refill/limit.rs", "src/plan/funding.rs"
P, C, O = "src/plan/propagation.rs", "src/plan/propagation/creation.rs", "src/plan/propagation/overtaken.rs"
N, A, U = "src/plan/windows.rs", "src/aggregate/propagation.rs", "src/units.rs"


def off(file, statement):
    """The statement is left out."""
    return (file, statement, "if !mutant(\"@\") { " + statement + " }")


MUTATIONS = {
    "rf_pin_dropped": [off(W, 'self.require("rf", Comparison::Equal, context.last_refill.0.into());')],
    "vu_pin_dropped": [off(W, 'self.conditions.push(Condition::as_read("vu", valid_until));')],
    "ws_pin_dropped": [(W, "if let Cause::Roll { start } = plan.cause {", 'if let Cause::Roll { start } = plan.cause && !mutant("@") {')],
    "tk_pin_dropped": [off(W, "self.require(&balance, Comparison::AtMost, most);")],
    "wa_pin_dropped": [off(W, "self.conditions.push(Condition::as_read(&applied, read));")],
    "count_pin_dropped": [(W, "if limits.iter().any(LimitPlan::is_regranted) {", 'if !mutant("@") && limits.iter().any(LimitPlan::is_regranted) {')],
    "quota_clamped_to_share": [
        (L, "            numbers.balance,\n        ),\n    };", '            if mutant("@") { numbers.balance.min(share) } else { numbers.balance },\n        ),\n    };'),
        (L, "Cause::Rest => false,", 'Cause::Rest => mutant("@") && delta != Millitokens::ZERO,')],
    "minted_instead_of_moved": [(F, "match covering.min_by_key", 'let covering = covering.filter(|_| !mutant("@"));\n    match covering.min_by_key')],
    "no_freeze_on_a_raise": [(P, "Some(raise_shard(group, shard, to, own_grant_sizes(&bucket, now)))", 'Some(raise_shard(group, shard, to, if mutant("@") { Vec::new() } else { own_grant_sizes(&bucket, now) }))')],
    "planned_at_the_first_record": [("src/plan/shard_state.rs", "        self.last = &change.new;", '        if !mutant("@") || self.limits.is_empty() { self.last = &change.new; }')],
    "no_repair_read": [(A, "if !self.settings.dry_run && created", 'if !mutant("@") && !self.settings.dry_run && created')],
    "no_owner_check": [off(C, "actions.push(TransactionAction::Check(self.owner.clone()));")],
    "no_cap_at_32": [
        (U, "Self(self.0.saturating_mul(2)).min(MAX_SHARD_COUNT)", 'if mutant("@") { Self(self.0.saturating_mul(2)) } else { Self(self.0.saturating_mul(2)).min(MAX_SHARD_COUNT) }'),
        ("src/plan/doubling.rs", "if from >= MAX_SHARD_COUNT {", 'if !mutant("@") && from >= MAX_SHARD_COUNT {')],
    "share_rounded_up": [(U, "Self(self.0.div_euclid(i128::from(count.get())))", 'Self((self.0 + if mutant("@") { i128::from(count.get()) - 1 } else { 0 }).div_euclid(i128::from(count.get())))')],
    "edge_at_rf_counts": [(L, "Some(edge) if edge > context.last_refill", 'Some(edge) if edge > context.last_refill || mutant("@") && edge == context.last_refill')],
    "donor_with_the_lowest_g": [(F, "(std::cmp::Reverse(grant.size), grant.shard)", '(if mutant("@") { grant.size.get() } else { u32::MAX - grant.size.get() }, grant.shard)')],
    "slots_mod_2g": [(F, "slot.0 % self.size.get() == self.shard.0 % self.size.get()", '{ let g = self.size.get() * if mutant("@") { 2 } else { 1 }; slot.0 % g == self.shard.0 % g }')],
    "wtc_kept_on_a_copy": [off(C, "*consumed = number(0);")],
    "ended_window_rolled": [(L, "if plans.iter().any(|plan| ended_unapplied(plan) == Some(true)) {", 'if !mutant("@") && plans.iter().any(|plan| ended_unapplied(plan) == Some(true)) {')],
    "tokens_travel_with_a_window": [(N, '            set("vu".to_owned(), 0),', '            set("vu".to_owned(), 0),\n            Action::Add { attribute: field(LimitField::Tk), delta: i128::from(mutant("@")) * 1000 },')],
    "propagated_on_ws_less": [(N, "self.start.saturating_add(-self.length_ms())", 'self.start.saturating_add(if mutant("@") { -1 } else { -self.length_ms() })')],
    "rf_goes_backward": [(W, "    let mut write = Builder", '    let last_refill = if mutant("@") { context.now } else { last_refill };\n    let mut write = Builder')],
    "no_donor_period_guard": [(C, "std::iter::once(grant).chain(period).collect()", 'std::iter::once(grant).chain(period.filter(|_| !mutant("@"))).collect()')],
    "restamped_above_a_ceiling": [
        (W, "if !expired || !within_ceilings {", 'if !expired || !within_ceilings && !mutant("@") {'),
        (W, "for plan in limits.iter().filter(|plan| plan.cause == Cause::Rest) {", 'for plan in limits.iter().filter(|plan| plan.cause == Cause::Rest && !mutant("@")) {')],
    "created_when_overtaken": [(O, "if read != propagation.rise.to {", 'if !mutant("@") && read != propagation.rise.to {')],
    "created_from_an_overtaken_image": [(O, "if let Some(attribute) = attributes.find(|attribute| !is_same(image, item, attribute)) {", 'if let Some(attribute) = attributes.find(|attribute| !is_same(image, item, attribute)).filter(|_| !mutant("@")) {')],
    "cp_unpinned": [off(W, "self.require(\n            attribute(name, LimitField::Cp),\n            Comparison::Equal,\n            plan.numbers.base.capacity.0,\n        );")],
    "clamp_repeated": [(W, "plan.cause == Cause::Drip && plan.delta < Millitokens::ZERO\n", 'plan.cause == Cause::Drip && plan.delta < Millitokens::ZERO && !mutant("@")\n')],
    "length_changed_by_r11": [(N, "(ended && same_length && marked)", '(ended && (same_length || mutant("@")) && marked)')],
    "partial_read_taken_as_complete": [(A, ".zip(items)", '.zip(items.into_iter().enumerate().map(|(place, item)| item.filter(|_| !mutant("@") || place == 0)))')],
    "debit_left_out_of_the_transaction": [off(C, "actions.extend(debits.into_values().map(TransactionAction::Update));")],
}

SWITCH = '''
/// Whether a mutation is switched on.
pub fn mutant(name: &str) -> bool {
    static ON: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    ON.get_or_init(|| std::env::var("MUTATION").unwrap_or_default()) == name
}
'''


def patch(copy):
    touched = set()
    for name, changes in MUTATIONS.items():
        for file, old, new in changes:
            path = copy / file
            text = path.read_text()
            # However the line is broken.
            pattern = re.compile(r"\s*".join(map(re.escape, re.findall(r"\w+|[^\w\s]", old))))
            found = len(pattern.findall(text))
            if found != 1:
                sys.exit(f"{name}: {file} holds this {found} times, not once: {old}")
            path.write_text(pattern.sub(lambda _: new.replace("@", name), text))
            touched.add(path)
    for path in touched:
        text = path.read_text()
        # Behind the module's own documentation.
        at = re.search(r"^(?!//!)", text, re.M).start()
        path.write_text(text[:at] + "\n#[allow(unused_imports)]\nuse crate::mutant;\n" + text[at:])
    # The programs would only be built, never run.
    manifest = copy / "Cargo.toml"
    kept = re.sub(r"\[\[bin\]\]\n(?:[^\[\n].*\n|\n)*", "", manifest.read_text())
    manifest.write_text(kept.replace("[package]\n", "[package]\nautobins = false\n", 1))
    lib = copy / "src/lib.rs"
    lib.write_text(lib.read_text() + SWITCH)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="400")
    parser.add_argument("--only")
    parser.add_argument("--target", default=str(ROOT / "target"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("target", ".git"))
        patch(copy)
        environment = {**os.environ, "CARGO_TARGET_DIR": arguments.target}
        command = ["cargo", "test", "--release", "--features", "replay", "--locked", "--test", "simulation", "--no-run"]
        built = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
        found = re.search(r"Executable .*\((.*)\)", built.stderr)
        if built.returncode or not found:
            sys.exit(built.stderr)
        program = pathlib.Path(folder) / "simulation"
        shutil.copy(copy / found[1], program)
        sys.exit(run(program, arguments))


def run(program, arguments):
    survivors = []
    for name in arguments.only.split(",") if arguments.only else ["", *MUTATIONS]:
        environment = {**os.environ, "MUTATION": name}
        ran = subprocess.run([program, "regressions"], env=environment, capture_output=True, text=True)
        if ran.returncode:
            found = re.search(r"\(seed \d+\): ([^:]*)", ran.stdout)
            print(f"{name or '(none)':36} caught by a regression: {found[1] if found else ran.stderr[-200:]}", flush=True)
            continue
        command = [program, "--seeds", arguments.seeds, "--until-first"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        caught = re.search(r"caught after (\d+) seeds: (.*)", ran.stdout)
        if not caught and ran.returncode:
            verdict = "caught: the program failed"
        else:
            verdict = f"caught by seed {caught[1]:>4}: {caught[2]}" if caught else "SURVIVED"
        if name and not caught and not ran.returncode:
            survivors.append(name)
        if not name and ran.returncode:
            sys.exit(f"the unmutated copy fails: {ran.stdout}")
        print(f"{name or '(none)':36} {verdict}", flush=True)
    print(f"{len(survivors)} survived: {', '.join(survivors)}")
    return 0 if not survivors else 1


if __name__ == "__main__":
    main()
