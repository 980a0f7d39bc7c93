"""What of the published client's table is held against the simulated client's, and how they differ.

Normalised, each for its reason:
- The namespace's id is drawn by the client, and every script has an entity of its own: keys are renamed.
- `pinc` is drawn, and `pgen` is the clock when the entity was made: both become the simulation's stamp where, and only
  where, they equal the owner's.
- Of the owner record the simulation keeps the stamp alone: its other attributes are left out.
"""

OWNER_ATTRIBUTES = ("PK", "SK", "pgen", "pinc")


def normalised(items, namespace, entity):
    """Items by key, in the simulation's names."""
    renamed = [
        {name: rename(value, namespace, entity) for name, value in item.items()} for item in items
    ]
    owner = next(item for item in renamed if item["SK"] == {"S": "#META"})
    stamp = {"pgen": owner["pgen"], "pinc": owner["pinc"]}
    table = {}
    for item in renamed:
        if item is owner:
            item = {name: item[name] for name in OWNER_ATTRIBUTES}
        for name, own in (("pgen", {"N": "1"}), ("pinc", {"S": "life-1"})):
            if item.get(name) == stamp[name]:
                item[name] = own
        table[key(item)] = item
    return table


def rename(value, namespace, entity):
    if "S" not in value:
        return value
    text = value["S"]
    if text == namespace:
        return {"S": "n"}
    if text.startswith(namespace + "/"):
        text = "n/" + text[len(namespace) + 1 :]
    parts = ["e" if part == entity else part for part in text.split("#")]
    return {"S": "#".join(parts)}


def key(item):
    return item["PK"]["S"], item["SK"]["S"]


def keyed(items):
    return {key(item): item for item in items}


def difference(published, simulated):
    """Lines that say where two tables differ; none where they are equal."""
    lines = []
    for place in sorted(published.keys() | simulated.keys()):
        one, other = published.get(place), simulated.get(place)
        if one is None or other is None:
            lines.append(f"{place[0]}: only {'simulated' if one is None else 'published'}")
            continue
        for name in sorted(one.keys() | other.keys()):
            if one.get(name) != other.get(name):
                lines.append(f"{place[0]} {name}: published {one.get(name)}, simulated {other.get(name)}")
    return lines
