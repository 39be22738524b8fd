#!/usr/bin/env python3
"""Makes the books of Quittance anew from an audit export (see ../ledger.md) and compares them. Python's standard library only; shares no code with the service.

    rebuild_books.py --export events.jsonl [--journal journal.jsonl ...] [--trial-balance balance.json ...] [--balances]

The journal is what `quittance ledger export --format jsonl` wrote, the trial balance what `quittance ledger trial-balance --json` printed, each of the same
moment as the export. Closed months are compared with what their closing says. `--balances` prints every balance, `--addresses` what each address holds.
Ends with 0 when all is equal, with 1 and a line for each difference, with 2 when the input cannot be read.
"""
import argparse
import json
import sys
from collections import defaultdict
from datetime import datetime, timezone

NETWORKS = ("ethereum", "bsc", "tron", "solana")
NATIVE = {"ethereum": "ETH", "bsc": "BNB", "tron": "TRX", "solana": "SOL"}
WALLETS, TREASURY, COLD = "assets:deposit-wallets", "assets:treasury", "assets:cold-storage"
UNMATCHED, SUSPENSE, FUNDING = "liabilities:unmatched", "liabilities:suspense", "equity:operator-funding"
FEES, SERVICE_FEES, OUTFLOWS = "expenses:network-fees", "income:service-fees", "expenses:unknown-outflows"
SCALE = 18

def units(text):
    """10^-18 of a coin."""
    negative, whole, fraction = text.startswith("-"), *(text.lstrip("-").split(".") + [""])[:2]
    if len(fraction) > SCALE:
        raise ValueError("too many decimals in " + text)
    value = int(whole) * 10**SCALE + int((fraction + "0" * SCALE)[:SCALE])
    return -value if negative else value

def text_of(value):
    whole, fraction = divmod(abs(value), 10**SCALE)
    decimals = str(fraction).zfill(SCALE).rstrip("0")
    return ("-" if value < 0 else "") + str(whole) + ("." + decimals if decimals else "")

def day_of(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d")

def month_after(month):
    year, number = int(month[:4]), int(month[5:])
    return "%04d-%02d" % ((year, number + 1) if number < 12 else (year + 1, 1))

class Session:
    """One order's money: where it is, and whose."""

    def __init__(self, data):
        self.data, self.mode, self.coin = data, data["mode"], data["dueCoin"]
        self.expires, self.cancelled, self.last_on_time = data["expiresAtSec"], False, None
        self.deposits, self.credits, self.late, self.legs = {}, {}, {}, {}
        # By network and coin: money of no order, money of the order, and money that may pay it.
        self.free, self.payable, self.on_time = defaultdict(int), defaultdict(int), defaultdict(int)
        self.due, self.applied = None, defaultdict(int)
        policy = data["policy"]
        self.basis_points = policy.get("serviceFeeBasisPoints", 0)
        self.tolerance = units(policy["tolerance"])
        self.decimals = min([6] + [option["decimals"] for option in data["paymentOptions"]])
        self.is_paid, self.charged = False, None

    def account(self, part):
        return "liabilities:merchants:%s:%s" % (self.data["merchantId"], part)

    def own_free(self, network, coin):
        """Without what was set aside and then left the chain: that is between the operator and the inbox."""
        lost = 0
        for deposit in self.deposits.values():
            aside = deposit["aside"]
            if deposit["network"] == network and aside and aside["coin"] == coin:
                there = deposit["units"] if deposit["entry"] and deposit["coin"] == coin else 0
                lost += max(aside["units"] - there, 0)
        return self.free[network, coin] + lost

    def pays_no_order(self, key):
        return key in self.late or (key in self.deposits and self.deposits[key]["kind"] != "on_time")

    def money_of_no_order(self, network, coin):
        total = sum(one["units"] for one in self.late.values() if (one["network"], one["coin"]) == (network, coin))
        for one in self.deposits.values():
            if one["kind"] not in ("on_time", "own") and one["entry"] and not one["aside"] and (one["network"], one["coin"]) == (network, coin):
                total += one["units"]
        return total - sum(leg["of_others"] for leg in self.legs.values() if (leg["network"], leg["coin"]) == (network, coin))

    def sources(self, amount):
        found = []
        for network in NETWORKS:
            taken = min(amount, self.on_time[network, self.coin])
            if taken > 0:
                found.append((network, taken))
                amount -= taken
        return found

    def apply(self, network, amount):
        if amount == 0:
            return []
        self.free[network, self.coin] -= amount
        self.payable[network, self.coin] += amount
        self.applied[network] += amount
        return [(self.account("payable"), network, self.coin, -amount, None), (self.account("unapplied"), network, self.coin, amount, None)]

    def settle_order(self, entry):
        """A paid order loses what is not there any more, and gets what is there again."""
        if self.due is None or entry is None:
            return []
        for network in NETWORKS:
            pocket = (network, self.coin)
            gone = max(-self.own_free(*pocket), self.applied[network] - self.on_time[pocket])
            entry["lines"] += self.apply(network, -max(min(gone, self.payable[pocket]), 0))
        lines = []
        for network in NETWORKS:
            pocket = (network, self.coin)
            lacking = self.due - sum(self.applied.values())
            lines += self.apply(network, max(min(lacking, self.own_free(*pocket), self.on_time[pocket] - self.applied[network]), 0))
        return [made("payment_restored", lines, entry["chain"])] if lines else []

    def settle_fee(self, event_type, entry, event_id):
        if self.basis_points == 0:
            return []
        self.is_paid = self.is_paid or event_type == "SessionPaid"
        due = units(self.data["dueAmount"])
        received = sum(self.on_time[network, self.coin] for network in NETWORKS)
        is_owed = self.is_paid and received > 0 and received >= due - self.tolerance
        if is_owed == (self.charged is not None):
            return []
        chain = entry["chain"] if entry else None
        if not is_owed:
            (charged_by, shares), self.charged = self.charged, None
            return [made("service_fee_reversed", self.fee_lines(shares, -1), chain, reverses=charged_by)] if shares else []
        sources = self.sources(due)
        shares = {network: self.fee_on(amount) for network, amount in sources}
        shares[max(sources, key=lambda source: source[1])[0]] += self.fee_on(sum(amount for _, amount in sources)) - sum(shares.values())
        shares = {network: share for network, share in shares.items() if share > 0}
        self.charged = (event_id, shares)
        return [made("service_fee", self.fee_lines(shares, 1), chain)] if shares else []

    def fee_on(self, amount):
        fee = amount * self.basis_points // 10_000
        return fee - fee % 10 ** (SCALE - self.decimals)

    def fee_lines(self, shares, sign):
        return [
            line
            for network in NETWORKS
            if network in shares
            for line in (
                (self.account("payable"), network, self.coin, sign * shares[network], None),
                (SERVICE_FEES, network, self.coin, -sign * shares[network], None),
            )
        ]

def made(kind, lines=(), chain=None, reverses=None):
    return {"kind": kind, "lines": list(lines), "chain": chain, "reverses": reverses}

def fee_of(network, amount, account, address, sign=1, charged=FEES):
    """The network's own fee, in its own coin."""
    if amount == 0:
        return []
    coin = NATIVE[network]
    return [(charged, network, coin, sign * amount, None), (account, network, coin, -sign * amount, address)]

def session_entry(session, kind, data, event_id):
    """The entry of one event of a session; None for one that moves no money."""
    free, on_time = session.free, session.on_time
    unapplied = session.account("unapplied")
    if kind == "SessionCancelled":
        session.cancelled = True
    elif kind == "SessionDeadlineMoved":
        session.expires = data["expiresAtSec"]
    elif kind == "DepositDetected":
        known = session.deposits.get(data["depositKey"])
        session.deposits[data["depositKey"]] = {
            **{name: data[name] for name in ("network", "coin", "kind", "toAddress")},
            **{"units": units(data["amount"]), "entry": None, "aside": known["aside"] if known else None},
        }
        return made("deposit_seen", chain=data["blockTimeSec"])
    elif kind in ("DepositConfirmed", "DepositReverted"):
        deposit = session.deposits[data["depositKey"]]
        pocket, amount, place = (deposit["network"], deposit["coin"]), deposit["units"], deposit["toAddress"]
        # Money from an address of the installation itself is the operator's.
        owner, counted = (FUNDING, 0) if deposit["kind"] == "own" else (unapplied, amount)
        if kind == "DepositConfirmed":
            seconds = data["blockTimeSec"]
            if deposit["kind"] == "on_time" and not session.cancelled and seconds > session.expires:
                deposit["kind"] = "late"
            deposit["entry"] = event_id
            free[pocket] += counted
            if deposit["kind"] == "on_time":
                session.last_on_time = max(session.last_on_time or 0, seconds)
                on_time[pocket] += 0 if deposit["aside"] else amount
            return made("deposit", [(WALLETS, *pocket, amount, place), (owner, *pocket, -amount, None)], seconds)
        booked_by, deposit["entry"] = deposit["entry"], None
        if booked_by is None:
            return made("deposit_lost")
        free[pocket] -= counted
        on_time[pocket] -= amount if deposit["kind"] == "on_time" and not deposit["aside"] else 0
        return made("deposit_reversed", [(WALLETS, *pocket, -amount, place), (owner, *pocket, amount, None)], reverses=booked_by)
    elif kind == "DepositSetAside":
        deposit = session.deposits[data["depositKey"]]
        pocket, amount = (deposit["network"], deposit["coin"]), deposit["units"]
        free[pocket] -= amount
        on_time[pocket] -= amount if deposit["kind"] == "on_time" else 0
        deposit["aside"] = {"entry": event_id, "coin": deposit["coin"], "units": amount}
        return made("transfer_set_aside", [(unapplied, *pocket, amount, None), (UNMATCHED, *pocket, -amount, None)])
    elif kind == "DepositPutBack":
        deposit = session.deposits[data["depositKey"]]
        aside, deposit["aside"] = deposit["aside"], None
        network, amount = deposit["network"], aside["units"]
        free[network, aside["coin"]] += amount
        if deposit["kind"] == "on_time" and deposit["entry"]:
            on_time[network, deposit["coin"]] += deposit["units"]
        lines = [(UNMATCHED, network, aside["coin"], amount, None), (unapplied, network, aside["coin"], -amount, None)]
        return made("transfer_put_back", lines, reverses=aside["entry"])
    elif kind in ("TransferCredited", "TransferCreditReversed"):
        sign = 1 if kind == "TransferCredited" else -1
        key, pocket, amount = data["depositKey"], (data["network"], data["coin"]), units(data["amount"])
        free[pocket] += sign * amount
        on_time[pocket] += sign * amount if data["kind"] == "on_time" else 0
        lines = [(UNMATCHED, *pocket, amount, None), (unapplied, *pocket, -amount, None)]
        if sign < 0:
            session.late.pop(key, None)
            back = [(unapplied, *pocket, amount, None), (UNMATCHED, *pocket, -amount, None)]
            return made("transfer_credit_reversed", back, reverses=session.credits.pop(key))
        session.credits[key] = event_id
        if data["kind"] == "on_time":
            session.last_on_time = max(session.last_on_time or 0, data["creditedAtSec"])
        else:
            session.late[key] = {"network": data["network"], "coin": data["coin"], "units": amount}
        return made("transfer_credited", lines)
    elif kind == "SessionPaid":
        session.due, session.applied = units(data["due"]), defaultdict(int)
        lines = []
        for network, amount in session.sources(min(session.due, units(data["received"]))):
            lines += session.apply(network, amount)
        return made("payment", lines, session.last_on_time)
    else:
        return refund_entry(session, kind, data, event_id)
    return None

def refund_entry(session, kind, data, event_id):
    free, payable = session.free, session.payable
    reserved = session.account("refunds-reserved")
    if kind == "RefundRequested":
        lines = []
        for leg in data["legs"]:
            pocket, amount = (leg["network"], leg["coin"]), units(leg["amount"])
            of_others = sum(units(part["amount"]) for part in leg["takenFrom"] if session.pays_no_order(part["depositKey"]))
            over = max(session.own_free(*pocket) - max(session.money_of_no_order(*pocket), 0), 0)
            from_order = min(max(amount - of_others - over, 0), max(payable[pocket], 0))
            free[pocket] -= amount - from_order
            payable[pocket] -= from_order
            known = {"network": leg["network"], "coin": leg["coin"], "units": amount, "from_order": from_order}
            session.legs[data["refundId"], leg["legId"]] = {**known, "of_others": of_others, "from": None, "paid": None}
            lines += reservation(session, known, 1)
        return made("refund_reserved", lines)
    if kind == "RefundCompleted":
        return made("refund_valued")
    leg = session.legs.get((data.get("refundId"), data.get("legId")))
    if kind in ("RefundPayoutSigned", "RefundPayoutReplaced"):
        leg["from"] = data["fromAddress"]
    elif kind in ("RefundPayoutLanded", "RefundPayoutReverted"):
        landed = kind == "RefundPayoutLanded"
        paid_by, fee = (event_id, units(data["networkFee"])) if landed else leg["paid"]
        sign = 1 if landed else -1
        leg["paid"] = (paid_by, fee) if landed else None
        place = (leg["network"], leg["coin"])
        lines = [(reserved, *place, sign * leg["units"], None), (TREASURY, *place, -sign * leg["units"], leg["from"])]
        lines += fee_of(leg["network"], fee, TREASURY, leg["from"], sign)
        return made("refund_paid", lines, data["blockTimeSec"]) if landed else made("refund_unpaid", lines, reverses=paid_by)
    elif kind == "RefundPayoutFailed":
        pocket = (leg["network"], leg["coin"])
        free[pocket] += leg["units"] - leg["from_order"]
        payable[pocket] += leg["from_order"]
        leg["of_others"] = 0
        fee = fee_of(leg["network"], units(data["networkFee"] or "0"), TREASURY, leg["from"])
        return made("refund_released", reservation(session, leg, -1) + fee)
    return None

def reservation(session, leg, sign):
    place, of_order = (leg["network"], leg["coin"]), leg["from_order"]
    parts = (("unapplied", leg["units"] - of_order), ("payable", of_order))
    lines = [(session.account(part), *place, sign * amount, None) for part, amount in parts if amount > 0]
    return lines + [(session.account("refunds-reserved"), *place, -sign * leg["units"], None)]

MOVES = {"Sweep": "sweep", "GasTopUp": "gas_top_up", "Withdrawal": "withdrawal", "Settlement": "settlement", "Return": "transfer_returned",
         "NativeReturn": "native_coin_returned", "NonceAccount": "nonce_account"}

def treasury_entries(kind, data, held):
    """`held`: what the deposit wallets hold of a coin at an address, None where they never held any."""
    for name, entry_kind in MOVES.items():
        if kind == name + "Completed":
            return with_found_coin(move_entry(entry_kind, data), data, held)
        if kind == name + "Failed":
            fee = move_fee(entry_kind, data, units(data["networkFee"] or "0"))
            return with_found_coin(made("failed_move", fee), data, held) if fee else []
    if kind == "TreasuryFunded":
        place, amount = (data["network"], data["coin"]), units(data["amount"])
        return [made("treasury_funded", [(TREASURY, *place, amount, data["address"]), (FUNDING, *place, -amount, None)])]
    if kind == "NativeCoinFound":
        return [made("native_coin_found", found_coin(data["network"], data["coin"], data["address"], units(data["amount"])))]
    if kind == "UnknownOutflowAcknowledged" and data["coin"] is not None and data["amount"] is not None:
        place, amount = (data["network"], data["coin"]), units(data["amount"])
        account = TREASURY if held(data["mode"], *place, data["address"]) is None else WALLETS
        return [made("outflow_written_off", [(OUTFLOWS, *place, amount, None), (account, *place, -amount, data["address"])])]
    return []

def move_entry(kind, data):
    place, amount = (data["network"], data["coin"]), units(data["amount"])
    sender, receiver = (data["fromAddress"], data["toAddress"])
    debit = {
        "sweep": (TREASURY, receiver), "gas_top_up": (WALLETS, receiver), "nonce_account": (FEES, None), "withdrawal": (COLD, receiver),
        "settlement": ("liabilities:merchants:%s:payable" % data["merchantId"], None), "transfer_returned": (UNMATCHED, None),
        "native_coin_returned": (SUSPENSE, None),
    }[kind]
    lines = [(debit[0], *place, amount, debit[1]), (WALLETS if kind == "sweep" else TREASURY, *place, -amount, sender)]
    # Who sent native coin that nobody asked for pays for its way back.
    charged = SUSPENSE if kind == "native_coin_returned" else FEES
    return made(kind, lines + move_fee(kind, data, units(data["networkFee"]), charged), data["blockTimeSec"])

def move_fee(kind, data, amount, charged=FEES):
    payer = WALLETS if kind == "sweep" and data["feeAddress"] == data["fromAddress"] else TREASURY
    return fee_of(data["network"], amount, payer, data["feeAddress"], charged=charged)

def with_found_coin(entry, data, held):
    """An address pays with what it holds: what a fee took beyond the books had come from outside."""
    network, coin, address = data["network"], data["feeCoin"], data["feeAddress"]
    spent = -sum(amount for account, _, of, amount, at in entry["lines"] if (account, of, at) == (WALLETS, coin, address))
    lacking = spent - (held(data["mode"], network, coin, address) or 0)
    if spent <= 0 or lacking <= 0:
        return [entry]
    return [made("native_coin_found", found_coin(network, coin, address, lacking), entry["chain"]), entry]

def found_coin(network, coin, address, amount):
    return [(WALLETS, network, coin, amount, address), (SUSPENSE, network, coin, -amount, None)]

def transfer_entries(kind, data):
    if kind != "TransferRecorded" or data["origin"]["kind"] == "session":
        return []
    place, amount = (data["network"], data["coin"]), units(data["amount"])
    came_to = (WALLETS, *place, amount, data["toAddress"]) if data["origin"]["kind"] == "address" else (FUNDING, *place, amount, None)
    return [made("transfer_recorded", [came_to, (UNMATCHED, *place, -amount, None)], data["blockTimeSec"])]

class Books:
    def __init__(self):
        self.sessions, self.differences, self.journal, self.closed_months = {}, [], defaultdict(list), 0
        self.balances, self.addresses = defaultdict(int), {}
        # By mode, clock and month: what moved of each account.
        self.moved = defaultdict(lambda: defaultdict(int))
        self.closed, self.touched, self.entries = {}, defaultdict(dict), defaultdict(int)

    def take(self, event):
        stream, kind, data = event["stream"], event["type"], json.loads(event["data"])
        if stream.startswith("session-"):
            self.take_session(stream, kind, data, event)
        elif stream.startswith("treasury-"):
            held = lambda mode, network, coin, address: self.addresses.get((mode, WALLETS, network, coin, address))
            for entry in treasury_entries(kind, data, held):
                self.post(data["mode"], entry, event)
        elif stream.startswith("transfer-"):
            for entry in transfer_entries(kind, data):
                self.post(data["mode"], entry, event)
        elif stream.startswith("ledger-adjustments-"):
            if kind == "AdjustmentPosted":
                place = (data["network"], data["coin"])
                lines = [(line["account"], *place, units(line["amount"]), None) for line in data["lines"]]
                self.post(data["mode"], made("adjustment", lines, reverses=data["reversesEvent"]), event)
        elif stream.startswith("ledger-periods-") and kind == "PeriodClosed":
            self.close(data, event)

    def take_session(self, stream, kind, data, event):
        if kind == "SessionCreated":
            self.sessions[stream] = Session(data)
            return
        session = self.sessions[stream]
        entry = session_entry(session, kind, data, event["id"])
        restored = session.settle_order(entry)
        for each in ([entry] if entry else []) + restored + session.settle_fee(kind, entry, event["id"]):
            self.post(session.mode, each, event)

    def post(self, mode, entry, event):
        open_from = month_after(self.closed[mode]) + "-01" if mode in self.closed else ""
        recorded = max(day_of(event["at_ms"] / 1000), open_from)
        chain = recorded if entry["chain"] is None else max(day_of(entry["chain"]), open_from)
        self.entries[mode] += 1
        sums = defaultdict(int)
        for account, network, coin, amount, address in entry["lines"]:
            sums[network, coin] += amount
            self.balances[mode, account, network, coin] += amount
            self.moved[mode, "recorded", recorded[:7]][account, network, coin] += amount
            self.moved[mode, "chain", chain[:7]][account, network, coin] += amount
            if address is not None:
                place = (mode, account, network, coin, address)
                self.addresses[place] = self.addresses.get(place, 0) + amount
                if account == WALLETS and coin == NATIVE[network] and self.addresses[place] < 0:
                    self.differences.append("event %s: the books of %s at %s fall below zero" % (event["id"], coin, address))
        for place, amount in sums.items():
            if amount != 0:
                self.differences.append("event %s: %s of %s on %s does not balance" % (event["id"], entry["kind"], place[1], place[0]))
        if entry["lines"]:
            for month in (recorded[:7], chain[:7]):
                self.touched[mode][month] = (self.entries[mode], event["id"])
        rows = [(account, network, coin, text_of(amount), address) for account, network, coin, amount, address in entry["lines"]]
        self.journal[mode].append((event["id"], entry["kind"], recorded, chain, entry["reverses"], rows))

    def close(self, data, event):
        mode, period = data["mode"], data["period"]
        if mode in self.closed and period <= self.closed[mode]:
            return
        last = max((entry for month, entry in self.touched[mode].items() if month <= period), default=(0, ""))
        if last[1] != data["throughPosition"]:
            return
        figures = {}
        for clock in ("recorded", "chain"):
            sums = defaultdict(int)
            for (of_mode, of_clock, month), moved in self.moved.items():
                if (of_mode, of_clock) == (mode, clock) and month <= period:
                    for place, amount in moved.items():
                        sums[place] += amount
            figures.update({"/".join((clock, *place)): text_of(amount) for place, amount in sums.items() if amount != 0})
        for key in sorted(set(figures) | set(data["balances"])):
            if figures.get(key) != data["balances"].get(key):
                self.differences.append("%s %s: %s is %s in the closing and %s anew" % (mode, period, key, data["balances"].get(key), figures.get(key)))
        self.closed[mode] = period
        self.touched[mode] = {month: entry for month, entry in self.touched[mode].items() if month > period}
        self.closed_months += 1
        self.post(mode, made("period_closed"), event)

    def compare_journal(self, rows):
        """Rows of the export of one mode, entry by entry and line by line."""
        given = []
        for row in rows:
            if not given or given[-1][0] != row["entry"]:
                given.append((row["entry"], row["mode"], [row["event_id"], row["kind"], row["recorded_day"], row["chain_day"], row["reverses"], []]))
            if row["line"] > 0:
                amount = text_of(units(row["amount"]))
                given[-1][2][5].append((row["account"], row["network"], row["coin"], amount, row["address"]))
        if not given:
            return
        mode = given[0][1]
        for (number, _, entry), own in zip(given, self.journal[mode]):
            if tuple(entry[:5]) + (entry[5],) != own:
                self.differences.append("entry %s of %s: the journal says %s, anew it is %s" % (number, mode, entry, list(own)))
        if len(given) != len(self.journal[mode]):
            self.differences.append("the journal of %s has %d entries, anew there are %d" % (mode, len(given), len(self.journal[mode])))

    def compare_balances(self, balance):
        mode = balance["mode"]
        given = {(row["account"], row["network"], row["coin"]): units(row["debit"] or "-" + row["credit"]) for row in balance["accounts"]}
        own = {key[1:]: amount for key, amount in self.balances.items() if key[0] == mode and amount != 0}
        for key in sorted(set(given) | set(own)):
            if given.get(key) != own.get(key):
                told, anew = (text_of(side.get(key, 0)) for side in (given, own))
                self.differences.append("%s %s of %s on %s: the trial balance says %s, anew it is %s" % (mode, key[0], key[2], key[1], told, anew))

def lines_of(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--export", required=True)
    parser.add_argument("--journal", nargs="*", default=[])
    parser.add_argument("--trial-balance", nargs="*", default=[])
    parser.add_argument("--balances", action="store_true")
    parser.add_argument("--addresses", action="store_true")
    asked = parser.parse_args()
    books, events = Books(), 0
    try:
        for event in lines_of(asked.export):
            books.take(event)
            events += 1
        for path in asked.journal:
            books.compare_journal(lines_of(path))
        for path in asked.trial_balance:
            with open(path, encoding="utf-8") as file:
                books.compare_balances(json.load(file))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print("the input cannot be read, after event %d: %s: %s" % (events, type(error).__name__, error))
        return 2
    if asked.balances:
        for key, amount in sorted(books.balances.items()):
            print("\t".join((*key, text_of(amount))))
    if asked.addresses:
        for key, amount in sorted(books.addresses.items()):
            print("\t".join((*key, text_of(amount))))
    for difference in books.differences:
        print(difference)
    accounts = sum(1 for amount in books.balances.values() if amount != 0)
    print("%d events, %d entries, %d accounts, %d addresses, %d closed months, %d differences"
          % (events, sum(books.entries.values()), accounts, len(books.addresses), books.closed_months, len(books.differences)))
    return 1 if books.differences else 0

if __name__ == "__main__":
    sys.exit(main())
