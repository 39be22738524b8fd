import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { payerOf, tokenDeltas, type SolanaTransaction } from '../../src/adapters/solana/token-balances.ts';
import { TOKEN_PROGRAM } from '../../src/chain-formats/spl-token.ts';
import { deltasOf, payerOf as payerOfSigner } from '../../src/signer/chains/solana-balances.ts';
import { runsOf } from '../support/runs.ts';

/*
 * Transactions of people who hand accounts over, close them, open them again and let others spend from them: whoever
 * is named as payer gave the money, and agreed to it.
 */

const MINT = 'the mint';
const SHOP = 'a collection address';
const PEOPLE = ['ann', 'bob', 'eve'];
const ACCOUNTS = 6;
const SHOP_ACCOUNT = ACCOUNTS;

interface Account {
  owner: string;
  units: bigint;
  delegate: string | null;
}
type State = (Account | null)[];

const place = fc.nat(ACCOUNTS);
const somebody = fc.constantFrom(...PEOPLE);
/** Null: all that is there. */
const amount = fc.option(fc.nat(80));
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ does: fc.constant('pay' as const), from: place, by: somebody, units: amount }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('move' as const),
      from: place,
      to: place,
      by: somebody,
      units: amount,
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('hand over' as const), from: place, to: somebody }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('approve' as const), from: place, to: somebody }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('close' as const), from: place }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('open' as const), from: place, to: somebody }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Who had to sign or to have allowed it; what the token program refuses does nothing. */
function run(state: State, one: Step): string[] {
  const from = state[one.from];
  if (one.does === 'open') {
    if (from === null && one.from !== SHOP_ACCOUNT) state[one.from] = { owner: one.to, units: 0n, delegate: null };
    return [];
  }
  if (!from || from.owner === SHOP) return [];
  switch (one.does) {
    case 'hand over':
      state[one.from] = { ...from, owner: one.to, delegate: null };
      return [from.owner];
    case 'approve':
      state[one.from] = { ...from, delegate: one.to };
      return [from.owner];
    case 'close':
      if (from.units === 0n) state[one.from] = null;
      return [from.owner];
    case 'pay':
    case 'move': {
      const target = one.does === 'pay' ? SHOP_ACCOUNT : one.to;
      const to = state[target];
      const units = one.units === null ? from.units : BigInt(one.units);
      if (!to || target === one.from || from.units < units || (one.by !== from.owner && one.by !== from.delegate))
        return [];
      state[one.from] = { ...from, units: from.units - units };
      state[target] = { ...to, units: to.units + units };
      // What a delegate spends, its owner allowed.
      return [from.owner];
    }
  }
}

const balancesOf = (state: State) =>
  state.flatMap((account, accountIndex) =>
    account === null
      ? []
      : [
          {
            accountIndex,
            mint: MINT,
            owner: account.owner,
            programId: TOKEN_PROGRAM,
            uiTokenAmount: { amount: String(account.units) },
          },
        ],
  );

const held = (state: State, owner: string): bigint =>
  state.reduce((total, account) => total + (account?.owner === owner ? account.units : 0n), 0n);

describe('the payer of a transfer on Solana', () => {
  it('gave the money and agreed to it, whatever became of accounts in the transaction; service and signer agree', () => {
    const seen = new Set<string>();
    const start = fc.array(fc.option(fc.record({ owner: somebody, units: fc.nat(100) })), {
      minLength: ACCOUNTS,
      maxLength: ACCOUNTS,
    });
    fc.assert(
      fc.property(start, fc.array(step, { minLength: 1, maxLength: 8 }), (accounts, steps) => {
        const before: State = [
          ...accounts.map((one) => one && { ...one, units: BigInt(one.units), delegate: null }),
          { owner: SHOP, units: 0n, delegate: null },
        ];
        const after = [...before];
        const agreed = new Set(steps.flatMap((one) => run(after, one)));
        const [preTokenBalances, postTokenBalances] = [balancesOf(before), balancesOf(after)];
        const transaction: SolanaTransaction = {
          slot: 1,
          meta: { err: null, preBalances: [], postBalances: [], preTokenBalances, postTokenBalances },
          transaction: { message: { accountKeys: [...before.keys()].map((index) => `account ${index}`) } },
        };
        const tokens = [{ coin: 'USDT' as const, address: MINT, decimals: 6 }];
        const { fromAddress, unknownPayer } = payerOf(tokenDeltas(transaction, tokens), MINT);
        expect(payerOfSigner(deltasOf(preTokenBalances, postTokenBalances), MINT)).toEqual({
          payer: fromAddress,
          ...(unknownPayer && { unknownPayer }),
        });
        if (held(after, SHOP) === 0n) return;
        seen.add(unknownPayer ?? 'known');
        if (fromAddress === null) return;
        expect(agreed).toContain(fromAddress);
        const lost = before.flatMap((account, index) => {
          const now = after[index];
          return account && account.units > (now?.units ?? 0n) ? [{ before: account.owner, after: now?.owner }] : [];
        });
        expect(lost).toContainEqual({ before: fromAddress, after: fromAddress });
        expect(lost.filter((one) => one.before !== one.after)).toEqual([]);
      }),
      { numRuns: runsOf(3_000) },
    );
    expect([...seen].sort()).toEqual(['account_closed', 'account_handed_over', 'known', 'several_payers']);
  });
});
