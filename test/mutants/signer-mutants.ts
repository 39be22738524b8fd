import type { PlantedChange } from '../support/planted-change.ts';
import type { Mutant } from './mutant.ts';

/*
 * Holes that the signer had, or could have, put back one at a time: whoever sits at its socket must be shown to find
 * each.
 */

const change = (file: string, from: string, to: string): PlantedChange => ({ file: `src/signer/${file}`, from, to });

export const SIGNER_MUTANTS: readonly Mutant[] = [
  {
    without: 'what a transfer of TRX looks like when it landed',
    changes: [
      {
        file: 'src/domain/networks/outcomes.ts',
        from: "'tron-native': tronTransfer",
        to: "'tron-native': (info: TronInfoResult): Outcome => (tronCall(info) === 'moved' ? 'moved' : 'nothing')",
      },
    ],
    foundBy: ['with tron-native that landed gives nothing free'],
  },
  {
    without: 'the blocks of the lifetime of a transaction on TRON',
    changes: [
      change(
        'chains/tron-view.ts',
        'return fromBlock !== null && !(await isListedFrom({ newest, listed }, txHash, { fromBlock, toMs }));',
        'return fromBlock !== null || listed !== null;',
      ),
    ],
    foundBy: ['whatever a node without history knows'],
  },
  {
    without: 'answers on TRON that are none',
    changes: [
      change(
        'chains/tron-view.ts',
        'z.strictObject({}).transform(() => null), form',
        'form, z.unknown().transform(() => null)',
      ),
    ],
    foundBy: ['is unknown as long as the node answers'],
  },
  {
    without: 'one voice for all URLs of a host',
    changes: [
      change('chains/chain-view.ts', 'vote.sources.add(answer.source)', 'vote.sources.add(`${vote.sources.size}`)'),
    ],
    foundBy: ['with two URLs is one that says how much was paid'],
  },
  {
    without: 'own transactions that are no deposits',
    changes: [
      change('policies/deposits.ts', 'own.hasSigned(txHash)', 'false'),
      change('policies/native-return.ts', 'own.hasSigned(transfer.txHash)', 'false'),
    ],
    foundBy: ['a transaction of the journal is no deposit'],
  },
  {
    without: 'any knowledge of our own money',
    changes: [
      change('policies/deposits.ts', 'own.hasSigned(txHash)', 'false'),
      change('policies/own-money.ts', 'return this.#addresses.has(address);', 'return false;'),
    ],
    foundBy: ['on tron no sequence of requests'],
  },
  {
    without: 'own addresses that are paid nothing back',
    changes: [change('policies/own-money.ts', 'return this.#addresses.has(address);', 'return false;')],
    foundBy: ['nothing is paid back to the treasury of another mode', 'nothing is withdrawn to an address'],
  },
  {
    without: "the merchant's account as a limit of refunds",
    changes: [change('policies/deposits.ts', 'return accountRefusal(order, parts) ??', 'return')],
    foundBy: ['who was settled gets nothing back', 'no sequence of requests'],
  },
  {
    without: 'approvals of their own for a refund beyond the account',
    changes: [
      change(
        'policies/deposits.ts',
        'agreedTo(others, [hashOf(transactionTerms(order, BEYOND_ACCOUNT))], rules.approvers)',
        'agreedTo(others, [hashOf(transactionTerms(order))], rules.approvers)',
      ),
    ],
    foundBy: ['who was settled gets nothing back'],
  },
  {
    without: 'payments that the event log calls failed and the journal signed',
    changes: [
      change('journal/ledger-accounts.ts', 'return owed - this.#payments.unproven(account, entries);', 'return owed;'),
    ],
    foundBy: ['counts although the event log says', 'no more is signed for a merchant'],
  },
  {
    without: 'the place of a deposit among the logs of its own transaction',
    changes: [change('chains/evm-view.ts', 'placeAmong(found.logs, moved)', 'moved.logIndex')],
    foundBy: ['put behind the logs of others'],
  },
  {
    without: 'what the books have as unmatched transfers',
    changes: [change('policies/deposits.ts', 'if (bytesOf(all)', "if (order.kind === 'return' || bytesOf(all)")],
    foundBy: ['is returned as an unmatched transfer to nobody'],
  },
  {
    without: 'refunds that were signed and the event log lacks',
    changes: [change('journal/ledger-accounts.ts', "purpose === 'refund' || isOwed(purpose)", 'isOwed(purpose)')],
    foundBy: ['lacks a refund that was signed'],
  },
  {
    without: 'the look at the stop right before a signature',
    changes: [
      change(
        'outgoing.ts',
        "if (stopped) return stopped; crashPoint('signer-before-journal');",
        "crashPoint('signer-before-journal');",
      ),
    ],
    foundBy: ['a stop waits for nothing', 'stays away', 'no sequence of requests'],
  },
  {
    without: 'the stop over bytes that were signed before',
    changes: [change('outgoing.ts', "if (stopped) return { ...stopped, kind: 'stopped' };", '')],
    foundBy: ['is given out again only after it'],
  },
  {
    without: 'replacements on Solana that exclude each other',
    changes: [change('chains/solana-view.ts', 'earlier.every(({ draft }) => excludeEachOther(draft, next))', 'true')],
    foundBy: ['whatever blockhash, nonce, price', 'on solana no sequence of requests'],
  },
  {
    without: 'the owner before the transaction as who paid on Solana',
    changes: [
      change('chains/solana-balances.ts', "if (units < 0n && isClosed) return unknown('account_closed');", ''),
      change(
        'chains/solana-balances.ts',
        "if (units < 0n && before !== after) return unknown('account_handed_over');",
        '',
      ),
    ],
    foundBy: ['on solana no sequence of requests', 'gave the money and agreed to it'],
  },
  {
    without: 'the payee as owner of the account that is paid into on Solana',
    changes: [change('outgoing.ts', "if (misdirected) return refusal('later', 'wrong_draft', misdirected);", '')],
    foundBy: ['on solana no sequence of requests'],
  },
  {
    without: 'one writing of the name of a deposit',
    changes: [
      change('chains/network-fields.ts', 'regex(/^0x[0-9a-f]{64}$/)', 'regex(/^\\s*(0x|0X)?[0-9a-fA-F]{64}$/)'),
      change(
        'chains/evm-view.ts',
        '${this.#network.network}:${found.transactionHash}',
        '${this.#network.network}:${proof.txHash}',
      ),
    ],
    foundBy: ['gets one refund of a deposit'],
  },
  {
    without: 'need and caps of gas for sweeps',
    changes: [
      change('policies/policies.ts', '(await topUpFault(order, parts, view)) ??', 'null ??'),
      change('outgoing.ts', '?? this.#nativeRefusal(request, account)', ''),
    ],
    foundBy: [
      'is not strewn over addresses',
      'is sent only where the signer sees tokens',
      'hold for one transaction, an hour and a day',
    ],
  },
  {
    without: 'the proof of an approval',
    changes: [
      change(
        'approvals/approvals.ts',
        "if (!proven.ok) return this.#wrongly(person, 'wrong_signature', proven.why);",
        '',
      ),
    ],
    foundBy: ['is not valid from the proposer', 'a passkey on P-256 of another person', 'is not to be guessed'],
  },
  {
    without: 'the lock-out of who guesses approvals',
    changes: [
      change(
        'approvals/approvals.ts',
        'return this.#recentlyWrong(person).length >= MAX_WRONG_IN_WINDOW;',
        'return false;',
      ),
    ],
    foundBy: ['is not to be guessed'],
  },
  {
    without: 'keys of approvers that are in force',
    changes: [change('approvals/count.ts', 'keys.has(entry.key)', 'entry.key')],
    foundBy: ['which a thief may have used in advance'],
  },
  {
    without: 'names that look alike as one name',
    changes: [
      change(
        'approvals/proof.ts',
        'export const personOf = (name: string): string => lookOf(name);',
        'export const personOf = (name: string): string => name.toLowerCase() || lookOf(name);',
      ),
    ],
    foundBy: ['is not valid from the proposer, however the name is written'],
  },
  {
    without: 'two approvals for going on',
    changes: [
      change(
        'approvals/approvals.ts',
        'if (this.#isFlooded(person))',
        "if (act.kind === 'resume' || act.kind === 'acknowledge') { this.#carryOut(act, account, [approval.approver], ''); return { ok: true, approvers: [], done: true }; }\n      if (this.#isFlooded(person))",
      ),
    ],
    foundBy: [
      'is for two; stopping is for anyone',
      'stops its network at the signer until two approvers acknowledged it',
    ],
  },
  {
    without: 'the chain id of a draft',
    changes: [
      change(
        'chains/evm-view.ts',
        'if (!isEvm(draft) || draft.chainId !== this.#network.chainId)',
        'if (!isEvm(draft))',
      ),
    ],
    foundBy: ['gets no signature for a top-up of another chain'],
  },
  {
    without: 'the expiration of what was signed before on TRON',
    changes: [
      change('chains/tron-view.ts', "return 'expirationMs' in next && this.#areDead(earlier, false);", 'return true;'),
    ],
    foundBy: ['on tron no sequence of requests'],
  },
  {
    without: 'the sum of what a sweep takes from several accounts',
    changes: [change('chains/solana-view.ts', 'if (!isAllOf(draft.fromAccounts, draft.tokenUnits))', 'if (false)')],
    foundBy: ['the signer lets only a sweep name accounts'],
  },
  {
    without: 'the transactions that a block of TRON must list',
    changes: [change('chains/tron-view.ts', '/[^0]/.test(found.txTrieRoot)', 'false')],
    foundBy: ['does not say that an expired payout is in no block'],
  },
  {
    without: 'the mark of a transfer on TRON that the token refused',
    changes: [change('chains/tron-view.ts', 'ret: z.undefined().optional() }', 'ret: z.unknown().optional() }')],
    foundBy: ['is unknown where the token refused the transfer'],
  },
  {
    without: 'the nonce that excludes on Ethereum',
    changes: [change('chains/evm-view.ts', 'earlier.every(({ draft }) => excludeEachOther(draft, next))', 'true')],
    foundBy: ['on ethereum no sequence of requests'],
  },
  {
    without: 'four eyes from the threshold on',
    changes: [change('policies/limits.ts', '(units < amountOf(limits.approvalFrom) ?', '(units >= 0n ?')],
    foundBy: [
      'on ethereum no sequence of requests',
      'on tron no sequence of requests',
      'on solana no sequence of requests',
    ],
  },
  {
    without: 'caps by the hour and the day',
    changes: [change('policies/limits.ts', 'return used + units <= amountOf(cap) ? null', 'return true ? null')],
    foundBy: ['on ethereum no sequence of requests', 'on solana no sequence of requests'],
  },
  {
    without: 'the number of payouts within an hour',
    changes: [change('policies/limits.ts', '>= rules.payoutsPerHour', '> rules.payoutsPerHour')],
    foundBy: ['makes PAYOUTS_PER_HOUR payouts within an hour'],
  },
  {
    without: 'the cap of a day on what leaves with two approvals',
    changes: [
      change(
        'policies/policies.ts',
        'if (used + units > amountOf(limits.perDay))',
        'if (used > amountOf(limits.perDay))',
      ),
    ],
    foundBy: ['takes TREASURY_LIMITS of a day'],
  },
  {
    without: 'the cap of a day on the native coin',
    changes: [change('policies/native.ts', "[DAY_MS, limits.perDay, 'native_daily_cap'],", '')],
    foundBy: ['burns NATIVE_LIMITS of a day in fees'],
  },
  {
    without: 'a second provider that says the same',
    changes: [
      change('chains/chain-view.ts', 'Math.min(2, new Set(urls.map(sourceOfUrl)).size)', 'Math.min(1, urls.length)'),
    ],
    foundBy: ['one RPC provider of two, asked first', 'one RPC provider of two, asked last'],
  },
  {
    without: 'the look for the deposit when a payout is raised in fee',
    changes: [
      change(
        'outgoing.ts',
        'const judged = await this.#judge(order, account, view); if (!judged.ok || (await view.mayFollow(earlier, draft))) return judged;',
        'const judged = { ok: true as const, takenFrom: last.takenFrom }; if (await view.mayFollow(earlier, draft)) return judged;',
      ),
    ],
    foundBy: ['is neither signed nor raised in fee'],
  },
  {
    without: 'what was typed as all that an approver signs',
    changes: [{ file: 'src/cli/approval-terms.ts', from: 'if (fits(found)) continue;', to: 'if (found) continue;' }],
    foundBy: ['signs nothing: another destination', 'signs nothing: more than left', 'signs nothing: another action'],
  },
  {
    without: 'lines about money that the command must name',
    changes: [
      {
        file: 'src/cli/approval-terms.ts',
        from: 'ALWAYS_TYPED.includes(label) && !expected',
        to: "label === '' && !expected",
      },
    ],
    foundBy: ['signs no line about money'],
  },
  {
    without: 'the look at the chain before money is free again',
    changes: [change('outgoing.ts', 'if (!view || !(await view.hadNoEffect(entries, seenIn)))', 'if (!view)')],
    foundBy: ['on ethereum no sequence of requests'],
  },
];

/** The one that runs with every test run, since the child of a test must be shown to carry what is planted. */
export const CHEAPEST = 'the chain id of a draft';
