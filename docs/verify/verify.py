#!/usr/bin/env python3
"""Verifies an audit export of Quittance offline (see ../audit.md). Python's standard library only.

    verify.py --export events.jsonl --checkpoint kept-1.txt kept-2.txt --key key.txt
    verify.py --proof proof.json --key key.txt
    verify.py --statement statement.json [--lines lines.csv] --key key.txt
    verify.py --file journal.csv [--evidence journal.csv.evidence.json] --key key.txt

Ends with 0 when everything holds, with 1 and one sentence when something does not, with 2 when the input cannot be read.
"""
import argparse
import base64
import csv
import decimal
import hashlib
import io
import json
import re
import sys

class Found(Exception):
    """What was found, and where."""

def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

# Ed25519 (RFC 8032), verification only, in extended coordinates.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P

def add(a, b):
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g = 2 * a[3] * b[3] * D % P
    h = 2 * a[2] * b[2] % P
    x, t, z, y = f - e, h - g, h + g, f + e
    return x * t % P, z * y % P, t * z % P, x * y % P

def multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result

def decompress(data):
    sign, y = divmod(int.from_bytes(data, "little"), 2**255)
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    x = x * pow(2, (P - 1) // 4, P) % P if (x * x - x2) % P else x
    if y >= P or (x * x - x2) % P or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P

BASE = decompress((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))

def ed25519_verify(public, signature, message):
    a, r = decompress(public), decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or a is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    one, other = multiply(s, BASE), add(r, multiply(h, a))
    return (one[0] * other[2] - other[0] * one[2]) % P == 0 and (one[1] * other[2] - other[1] * one[2]) % P == 0

# Signed notes and checkpoints (c2sp.org/signed-note, c2sp.org/tlog-checkpoint).
def parse_key(text):
    name, key_id, encoded = re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)", text.strip()).groups()
    data = base64.b64decode(encoded, validate=True)
    if data[0] != 1 or len(data) != 33 or sha256(name.encode(), b"\n", data)[:4].hex() != key_id:
        raise ValueError("the key is not an Ed25519 verifier key")
    return name, bytes.fromhex(key_id), data[1:]

def parse_checkpoint(note, key, where):
    text, _, rest = note.partition("\n\n")
    lines = (text := text + "\n").split("\n")
    name, key_id, public = key
    if len(lines) < 4 or not re.fullmatch(r"0|[1-9][0-9]{0,15}", lines[1]):
        raise Found(f"{where}: not a checkpoint")
    for line in rest.strip().split("\n"):
        parts = line.split(" ")
        signed = base64.b64decode(parts[2]) if len(parts) == 3 and parts[0] == "\u2014" else b""
        if parts[1:2] == [name] and signed[:4] == key_id and lines[0] == name:
            if not ed25519_verify(public, signed[4:], text.encode()):
                raise Found(f"{where}: the signature of the checkpoint of {lines[1]} events does not verify")
            return int(lines[1]), base64.b64decode(lines[2]), where
    raise Found(f"{where}: the checkpoint of {lines[1]} events is not signed by this key")

def checkpoints_of(path, key):
    text = open(path, encoding="utf-8").read().replace("\r\n", "\n")
    if text.lstrip().startswith("{"):
        value = json.loads(text)
        notes = [one["checkpoint"] for one in value.get("data", [value])]
    else:
        notes = re.findall(r"[^\n\u2014]+\n\d+\n[^\n]+\n(?:[^\n]+\n)*\n(?:\u2014 [^\n]+\n)+", text.strip() + "\n")
    if not notes:
        raise Found(f"{path}: no checkpoint in it")
    return [parse_checkpoint(note, key, path) for note in notes]

# The export, and a session's life as events tell it without amounts, which `audit verify` replays, too. Others come once it was created.
LIFE = {"absent": {"SessionCreated": "open"}, "expired": {"SessionPaid": "paid"}, "failed": {"SessionPaid": "paid"}, "open": {
    "SessionPaid": "paid", "SessionExpired": "expired", "SessionFailed": "failed", "SessionCancelled": "cancelled"}}
TURNS = {event for turns in LIFE.values() for event in turns}

def canonical(event):
    head = [json.dumps(event[name], ensure_ascii=False) for name in ("stream", "revision", "id", "type", "version", "at_ms")]
    return "[" + ",".join(head + [event["data"], event["metadata"]]) + "]"

def events_of(path, holding=""):
    with open(path, encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if holding not in line:
                continue
            try:
                event = json.loads(line)
                event["prev"] = json.loads(event["metadata"]).get("prev")
                yield number, event, sha256(canonical(event).encode("utf-8"))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise Found(f"line {number} of the export: it is not an event ({type(error).__name__})") from None

def promised(arguments, key):
    heads = [head for path in arguments.checkpoint for head in checkpoints_of(path, key)]
    for number, event, digest in events_of(arguments.export, '"CheckpointSigned"'):
        if event["type"] == "CheckpointSigned" and digest.hex() == event["hash"]:
            heads.append(parse_checkpoint(json.loads(event["data"])["checkpoint"], key, f"event {number} of the export"))
    return sorted(heads, key=lambda head: head[0])

def verify_export(arguments, key):
    heads, streams, peaks, good, size, held, illegal = promised(arguments, key), {}, [], 0, 0, 0, None
    for number, event, digest in events_of(arguments.export):
        revision, before, state = streams.get(event["stream"], (-1, "", "absent"))
        where = f"event {number} (revision {event['revision']} of stream {event['stream']}, {event['type']})"
        if event["position"] != number:
            raise Found(f"{where}: it says that it is event {event['position']}: events are missing or in another order")
        if digest.hex() != event["hash"]:
            raise Found(f"{where}: its text does not have its hash")
        if event["revision"] != revision + 1:
            raise Found(f"{where}: its stream goes on at revision {revision + 1}: events are missing or in another order")
        if event["prev"] != before:
            raise Found(f"{where}: it does not name the hash of the event before it in its stream")
        turns = event["stream"].startswith("session-") and (state == "absent" or event["type"] in TURNS)
        next_state = LIFE.get(state, {}).get(event["type"]) if turns else state
        illegal = illegal or next_state is None and f"{where}: history is not legal in a session that is {state}"
        streams[event["stream"]] = (event["revision"], event["hash"], next_state)
        width, node, size = 1, sha256(b"\0", digest), number
        while peaks and peaks[-1][0] == width:
            width, node = width * 2, sha256(b"\1", peaks.pop()[1], node)
        peaks.append((width, node))
        while heads and heads[0][0] == size:
            _, root, source = heads.pop(0)
            found = peaks[-1][1]
            for _, left in reversed(peaks[:-1]):
                found = sha256(b"\1", left, found)
            if found != root:
                raise Found(f"history differs between the checkpoint of {good} events, which holds, and that of {size} events ({source})")
            good, held = size, held + 1
    if heads or illegal:
        missing = heads and f"the export ends after {size} events, but {heads[-1][0]} were signed ({heads[-1][2]}): the rest is missing"
        raise Found(missing or illegal)
    print(f"ok: {size} events in {len(streams)} streams, {held} checkpoints hold, {size - good} events are after the newest one")

def included(event, size, root):
    node, index, last = sha256(b"\0", sha256(event["text"].encode())), event["leaf_index"], size - 1
    for step in map(base64.b64decode, event["inclusion_proof"]):
        if last == 0:
            return False
        if index & 1 or index == last:
            node = sha256(b"\1", step, node)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = sha256(b"\1", node, step)
        index, last = index >> 1, last >> 1
    return last == 0 and node == root

def verify_proof(path, key):
    proof = json.load(open(path, encoding="utf-8"))
    if not proof.get("checkpoint") or not proof["events"]:
        raise Found("it is not a proof, or no checkpoint covers the payment yet")
    size, root, _ = parse_checkpoint(proof["checkpoint"]["checkpoint"], key, path)
    events, proves, revision, leaf, before = proof["events"], proof["proves"], -1, -1, ""
    whole = proves["kind"] == "stream"
    if not whole and proves["kind"] != "inclusion":
        raise Found("it does not say what it proves")
    for event in events:
        where = f"event {event['leaf_index'] + 1} of the event log"
        stream, of_stream, _id, kind, _version, _at_ms, _data, metadata = json.loads(event["text"])
        digest = sha256(event["text"].encode()).hex()
        if stream != "session-" + proof["session_id"]:
            raise Found(f"{where} is not of {proof['session_id']}")
        if (event["type"], event["revision"], event["hash"]) != (kind, of_stream, digest):
            raise Found(f"{where} is not what is said of it: type, revision and hash are those of its text")
        if of_stream <= revision or event["leaf_index"] <= leaf:
            raise Found(f"{where} is doubled or out of its order")
        if whole and (of_stream != revision + 1 or metadata.get("prev") != before):
            raise Found(f"{where} does not follow revision {revision} of its stream: events are missing")
        if not 0 <= event["leaf_index"] < size or not included(event, size, root):
            raise Found(f"{where} is not what the checkpoint of {size} events holds there")
        revision, leaf, before = of_stream, event["leaf_index"], digest
    if proves["events"] != len(events) or whole and proves["through_revision"] != revision:
        raise Found(f"it holds {len(events)} events and says that it proves {proves['events']}")
    what = f"every event up to revision {revision}" if whole else "these and no claim about others"
    print(f"ok: {len(events)} events of {proof['session_id']} are in the event log of {size} events ({what})")

# What the books gave out (ledger.md): a file or the statement of a month, whose event is in the log.
def shown(value):
    """Names in snake case, values as they are."""
    if isinstance(value, list):
        return [shown(each) for each in value]
    if isinstance(value, dict):
        return {re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name): shown(each) for name, each in value.items()}
    return value

def units(text):
    return decimal.Decimal(text or 0)

def proven(path, key):
    """What the evidence says, and its event, which the checkpoint of so many events holds."""
    said = json.load(open(path, encoding="utf-8"))
    proof, size, root = said["proof"], *parse_checkpoint(said["checkpoint"]["checkpoint"], key, path)[:2]
    stream, _revision, event_id, kind, _version, at_ms, data, _metadata = json.loads(proof["text"])
    if sha256(proof["text"].encode()).hex() != proof["hash"]:
        raise Found("the hash is not that of its event")
    if not 0 <= proof["leaf_index"] < size or not included(proof, size, root):
        raise Found(f"its event is not what the checkpoint of {size} events holds there")
    return said, size, (stream, event_id, kind, at_ms, data)

def issued(path, key, stream_of):
    said, size, (stream, event_id, kind, at_ms, data) = proven(path, key)
    if stream != stream_of(kind, data):
        raise Found("its event is of another kind or stream")
    facts = {**shown(data), "type": kind, "event": event_id, "recorded_at": at_ms // 1000}
    for name in set(facts) | set(said) - {"verifier_key", "checkpoint", "proof"}:
        if facts.get(name) != said.get(name):
            raise Found(f"{name} is not what its event says")
    return facts, size

def rows_of(text, form):
    return list(csv.DictReader(io.StringIO(text, newline=""))) if form == "csv" else [json.loads(line) for line in text.splitlines()]

def verify_file(path, evidence, key):
    facts, size = issued(evidence, key, lambda kind, data: kind == "DocumentIssued" and f"ledger-documents-{data['mode']}")
    content = open(path, "rb").read()
    if len(content) != facts["bytes"] or sha256(content).hex() != facts["sha256"]:
        raise Found("the file is not the one that was given out: its SHA-256 differs")
    if facts["format"] in ("csv", "jsonl"):
        rows = rows_of(content.decode("utf-8"), facts["format"])
        if len(rows) != facts["rows"]:
            raise Found(f"it has {len(rows)} rows, its event says {facts['rows']}")
        for total in facts["totals"]:
            own = [row for row in rows if all((row.get(name) or None) == total[name] for name in ("network", "coin"))]
            found = sum((units(row[total["column"]]) for row in own), decimal.Decimal(0))
            if found != units(total["sum"]):
                raise Found(f"{total['column']} of {total['coin']} on {total['network']} adds up to {found}, its event says {total['sum']}")
    print(f"ok: {facts['document']} with {facts['rows']} rows, in the event log of {size} events")

def verify_statement(path, lines, key):
    facts, size = issued(path, key, lambda kind, data: kind == "StatementIssued" and f"ledger-statements-{data['mode']}-{data['period']}")
    sums = {}
    for row in facts["accounts"]:
        place = (row["account"], row["network"], row["coin"])
        if units(row["opening"]) + units(row["debits"]) - units(row["credits"]) != units(row["closing"]):
            raise Found(f"{' '.join(place)} does not add up")
        sums[place] = (units(row["debits"]), units(row["credits"]))
        if facts["merchant_id"] is None:
            sums[place[1:]] = (sums.get(place[1:], (0, 0))[0] + units(row["closing"]), 0)
    for row in facts["kinds"]:
        place = (row["account"], row["network"], row["coin"])
        debits, credits = sums.get(place, (0, 0))
        sums[place] = (debits - units(row["debits"]), credits - units(row["credits"]))
    for place, rest in sums.items():
        if any(rest):
            raise Found(f"{' '.join(place)}: the kinds are not the turnover, or the accounts do not balance")
    if sum(row["lines"] for row in facts["kinds"]) != facts["lines"]:
        raise Found("the lines of its kinds are not its lines")
    if lines:
        own = [row for row in rows_of(open(lines, encoding="utf-8", newline="").read(), "csv") if row["account"]]
        text = "".join(",".join(row[name] for name in ("event_id", "account", "network", "coin", "amount")) + "\n" for row in own)
        if sha256(text.encode()).hex() != facts["lines_sha256"]:
            raise Found("the lines are not those of the statement: their SHA-256 differs")
    print(f"ok: statement of {facts['period']} with {facts['lines']} lines, in the event log of {size} events")

# `ledger statement`: the figures of the event that closed a month.
def verify_closing(path, key):
    said, size, (stream, event_id, kind, at_ms, data) = proven(path, key)
    if kind != "PeriodClosed" or stream != f"ledger-periods-{data['mode']}":
        raise Found("its event does not close a month")
    facts = {"mode": data["mode"], "period": data["period"], "closed_at": at_ms // 1000, "actor": data["actor"]}
    for name, value in {**facts, "event": event_id, "through_event": data["throughPosition"]}.items():
        if said[name] != value:
            raise Found(f"{name} is not what its event says")
    figures, totals = {}, {}
    for row in said["figures"]:
        figures["/".join(row[name] for name in ("clock", "account", "network", "coin"))] = units(row["debit"]) - units(row["credit"])
    if figures != {name: units(amount) for name, amount in data["balances"].items()} or len(figures) != len(said["figures"]):
        raise Found("its figures are not what its event says")
    for name, amount in figures.items():
        clock, _account, network, coin = name.split("/")
        count, debits, credits = totals.get((clock, network, coin), (0, 0, 0))
        totals[clock, network, coin] = (count + 1, debits + max(amount, 0), credits + max(-amount, 0))
    written = {(row["clock"], row["network"], row["coin"]): (row["figures"], units(row["debits"]), units(row["credits"])) for row in said["totals"]}
    if written != totals or len(written) != len(said["totals"]):
        raise Found("its control totals are not those of its figures")
    for place, (_count, debits, credits) in totals.items():
        if debits != credits:
            raise Found(f"debits and credits of {' '.join(place)} differ")
    print(f"ok: closed month {said['period']} with {len(figures)} figures, in the event log of {size} events")

def main():
    decimal.getcontext().prec = 60
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--export")
    parser.add_argument("--proof")
    parser.add_argument("--statement", help="of a closed month")
    parser.add_argument("--lines", help="the lines of a statement as CSV")
    parser.add_argument("--file", help="what the books gave out")
    parser.add_argument("--evidence", help="of the file; default: beside it, with .evidence.json")
    parser.add_argument("--checkpoint", nargs="+")
    parser.add_argument("--key", required=True, help="the public key, or a file that holds it")
    arguments = parser.parse_args()
    if not (arguments.proof or arguments.statement or arguments.file) and not (arguments.export and arguments.checkpoint):
        parser.error("give --export with --checkpoint, --proof, --statement or --file")
    try:
        is_text = re.fullmatch(r"\S+\+[0-9a-f]{8}\+\S+", arguments.key)
        key = parse_key(arguments.key if is_text else open(arguments.key, encoding="utf-8").read())
        if arguments.file:
            verify_file(arguments.file, arguments.evidence or arguments.file + ".evidence.json", key)
        elif arguments.statement:
            is_closing = "figures" in json.load(open(arguments.statement, encoding="utf-8"))
            verify_closing(arguments.statement, key) if is_closing else verify_statement(arguments.statement, arguments.lines, key)
        else:
            verify_proof(arguments.proof, key) if arguments.proof else verify_export(arguments, key)
    except Found as found:
        print(f"NOT VERIFIED: {found}")
        return 1
    except (OSError, ValueError, KeyError, AttributeError, TypeError, decimal.InvalidOperation) as error:
        print(f"cannot read the input: {error}", file=sys.stderr)
        return 2
    return 0

if __name__ == "__main__":
    sys.exit(main())
