import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRpcPool } from '../../../../src/adapters/rpc/pool.ts';
import { SolanaOutgoing } from '../../../../src/adapters/solana/outgoing.ts';
import { base58, fromBase58 } from '../../../../src/chain-formats/base58.ts';
import { nonceAccountOf } from '../../../../src/chain-formats/solana-nonce.ts';
import { associatedTokenAccount, receivingAccount } from '../../../../src/chain-formats/spl-token.ts';
import { mostNative } from '../../../../src/domain/networks/native-cost.ts';
import type { TokenDraft } from '../../../../src/domain/events/transaction-draft.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import { NOTHING_RESERVED, type OutgoingTransaction } from '../../../../src/ports/outgoing/transaction.ts';
import { signedBytesOf } from '../../../../src/signer/chains/outgoing-bytes.ts';
import { SolanaView } from '../../../../src/signer/chains/solana-view.ts';
import { Wallet } from '../../../../src/signer/keys/wallet.ts';
import { outgoing } from '../../../support/outgoing.ts';
import {
  MAINNET_GENESIS,
  mintAccount,
  nonceAccount,
  playSolanaNode,
  tokenAccountData,
  TOKEN_PROGRAM,
  type PlayedSolanaNode,
} from '../../../support/solana-node.ts';

type SolanaDraft = Extract<TokenDraft, { kind: 'solana' }>;

/* Into which account a refund goes: whoever closes a token account gets its rent. */

const wallet = new Wallet('test test test test test test test test test test test junk');
const treasury = wallet.treasury.solana;
const key = (fill: number): string => base58(Buffer.alloc(32, fill));
const [MINT, OTHER_MINT, PAYER, SOMEBODY] = [key(7), key(8), wallet.solanaPublicKeys(7, 1)[0]!, key(9)];
const [ATA, OTHER_ACCOUNT] = [associatedTokenAccount(PAYER, MINT), key(11)];
const TX = base58(Buffer.alloc(64, 3));
const RENT = 2_039_280;
const settings: NetworkSettings = {
  ...{ network: 'solana', mode: 'test', chainId: MAINNET_GENESIS },
  tokens: [{ coin: 'USDT', address: MINT, decimals: 6 }],
  ...{ simulated: false, mainNetwork: true, explorerTransactionUrl: null },
};
const order: OutgoingTransaction = outgoing({
  ...{ kind: 'refund', id: 're_a-1', network: 'solana', coin: 'USDT', amount: '5.00' },
  ...{ fromAddress: treasury, toAddress: PAYER },
  deposits: [
    {
      ...{ depositKey: `solana:${TX}:1`, txHash: TX, logIndex: 1, amount: '5.00' },
      ...{ toAddress: wallet.collectionAddress('solana', 0), derivationIndex: 0 },
    },
  ],
});

let node: PlayedSolanaNode;
let payouts: SolanaOutgoing;
let lamports: number;
beforeEach(async () => {
  node = await playSolanaNode(5_000);
  lamports = 10 ** 9;
  for (const mint of [MINT, OTHER_MINT]) node.accounts.set(mint, mintAccount());
  node.accounts.set(nonceAccountOf(treasury, 0), nonceAccount(treasury, key(5)));
  hold(associatedTokenAccount(treasury, MINT), treasury, 100_000_000n);
  node.override = ({ method, params }) => {
    if (method === 'getRecentPrioritizationFees') return { result: [] };
    if (method === 'getBalance') return { result: { context: { slot: 5_000 }, value: lamports } };
    return method === 'getMinimumBalanceForRentExemption' ? { result: params[0] === 0 ? 890_880 : RENT } : undefined;
  };
  const pool = createRpcPool({ network: 'solana', urls: [node.url] });
  payouts = new SolanaOutgoing({ settings, pool, maxPrice: 25_000_000 });
});
afterEach(async () => {
  await payouts.close();
  await node.close();
});

const hold = (account: string, owner: string, units = 0n, mint = MINT, isFrozen = false): unknown =>
  node.accounts.set(account, tokenAccountData(fromBase58(mint)!, fromBase58(owner)!, units, isFrozen));
/** The payer paid from this account. */
function paidFrom(account: string): void {
  const of = (accountIndex: number, owner: string, amount: string) => ({
    ...{ accountIndex, mint: MINT, owner, programId: TOKEN_PROGRAM, uiTokenAmount: { amount, decimals: 6 } },
  });
  const shop = order.deposits[0]!.toAddress;
  const transaction = {
    slot: 4_000,
    meta: {
      ...{ err: null, fee: 5_000, preBalances: [], postBalances: [] },
      preTokenBalances: [of(0, PAYER, '5000000')],
      postTokenBalances: [of(0, PAYER, '0'), of(1, shop, '5000000')],
    },
    transaction: {
      signatures: [TX],
      message: {
        accountKeys: [account, associatedTokenAccount(shop, MINT)],
        header: { numRequiredSignatures: 1 },
      },
    },
  };
  node.transactions.set(TX, transaction);
}
const draftOf = async (of = order): Promise<SolanaDraft> => (await payouts.draft(of, null, {})) as SolanaDraft;

describe('a refund on Solana', () => {
  it('goes back into the account that paid, of whatever kind, without rent', async () => {
    for (const account of [ATA, OTHER_ACCOUNT]) {
      node.accounts.delete(ATA);
      hold(account, PAYER);
      paidFrom(account);
      const draft = await draftOf();
      expect(draft.toAccount).toBe(account);
      const { signedBytes } = await signedBytesOf(draft, order, wallet);
      expect(receivingAccount(Buffer.from(signedBytes, 'base64'))).toBe(account);
      const { toAccount: _, ...made } = draft;
      expect(mostNative(made) - mostNative(draft)).toBe(BigInt(RENT) * 10n ** 9n);
    }
  });

  it("goes into the usual account, made anew, where the account that paid is gone, frozen or somebody else's", async () => {
    paidFrom(OTHER_ACCOUNT);
    for (const prepare of [
      () => node.accounts.delete(OTHER_ACCOUNT),
      () => hold(OTHER_ACCOUNT, SOMEBODY),
      () => hold(OTHER_ACCOUNT, PAYER, 0n, OTHER_MINT),
      () => hold(OTHER_ACCOUNT, PAYER, 0n, MINT, true),
      () => node.accounts.set(OTHER_ACCOUNT, { ...mintAccount(), owner: SOMEBODY }),
    ]) {
      prepare();
      expect((await draftOf()).toAccount).toBeUndefined();
    }
    hold(ATA, PAYER);
    expect((await draftOf()).toAccount).toBe(ATA);
  });

  it('fails for a frozen payee only where no other account that paid can take it', async () => {
    hold(ATA, PAYER, 0n, MINT, true);
    paidFrom(OTHER_ACCOUNT);
    expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'fail', reason: 'recipient_frozen' });
    hold(OTHER_ACCOUNT, PAYER);
    expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'ready' });
  });

  it('needs rent in the treasury only where an account is made', async () => {
    paidFrom(ATA);
    lamports = 890_880 + 2_010_000 + RENT - 1;
    expect(await payouts.check(order, NOTHING_RESERVED)).toMatchObject({ kind: 'wait', reason: 'insufficient_gas' });
    hold(ATA, PAYER);
    expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'ready' });
  });

  it('and a nonce account leave the treasury what the network keeps in every account, and wait with that reason', async () => {
    const address = nonceAccountOf(treasury, 1);
    const making = outgoing({
      ...{ kind: 'nonce_account', id: 'nac_1', network: 'solana', coin: 'SOL', amount: '0.00144768' },
      ...{ fromAddress: treasury, toAddress: address, derivationIndex: 1 },
    });
    const need = 1_447_680 + 890_880 + 5_000 + 80;
    lamports = need - 1;
    expect(await payouts.check(making, NOTHING_RESERVED)).toMatchObject({
      ...{ kind: 'wait', reason: 'insufficient_gas' },
      detail: expect.stringContaining('the network keeps 0.00089088 in every account') as string,
    });
    lamports = need;
    expect(await payouts.check(making, NOTHING_RESERVED)).toEqual({ kind: 'ready' });
  });

  it('asks the price of the accounts that it writes to, since nodes know none of a mint', async () => {
    paidFrom(OTHER_ACCOUNT);
    hold(OTHER_ACCOUNT, PAYER);
    const asked: unknown[] = [];
    const before = node.override;
    node.override = (request) => {
      if (request.method !== 'getRecentPrioritizationFees') return before(request);
      asked.push(request.params[0]);
      return { result: [{ slot: 4_999, prioritizationFee: 70_000 }] };
    };
    const draft = await draftOf();
    expect(draft.computeUnitPrice).toBe('70000');
    await payouts.bump({ ...draft, computeUnitPrice: '1000' }, order);
    const locked = [associatedTokenAccount(treasury, MINT), OTHER_ACCOUNT];
    expect(asked).toEqual([locked, locked]);
  });

  it('waits for a provider that keeps the deposit, where the one that is asked keeps nothing so old', async () => {
    const view = new SolanaView({ ...settings, urls: [node.url] });
    const [proof] = order.deposits;
    expect(await view.findDeposit(proof!)).toBeNull();
    node.firstKeptSlot = 4_500;
    await expect(view.findDeposit(proof!)).rejects.toThrow('keeps nothing older');
    await expect(view.findDeposit({ ...proof!, blockNumber: 4_000 })).rejects.toThrow('keeps nothing older');
  });

  it('finds the deposit in its block where the node has forgotten its signature', async () => {
    const view = new SolanaView({ ...settings, urls: [node.url] });
    const proof = { ...order.deposits[0]!, blockNumber: 4_000 };
    paidFrom(ATA);
    const shown = await view.findDeposit(proof);
    expect(shown).toMatchObject({ payer: PAYER, units: 5n * 10n ** 18n, final: true });
    node.blocks.set(4_000, [[TX, node.transactions.get(TX)!]]);
    node.transactions.delete(TX);
    expect(await view.findDeposit(proof)).toEqual(shown);
    expect(await payouts.holds([proof])).toBe(true);
    const moved = node.blocks.get(4_000)![0]![1];
    const failed = { ...moved, meta: { ...moved.meta, err: 'failed' } };
    for (const listed of [[], [[TX, failed]] as const]) {
      node.blocks.set(4_000, listed);
      expect(await payouts.holds([proof])).toBe(false);
    }
    node.blocks.set(4_000, []);
    expect(await view.findDeposit(proof)).toBeNull();
  });

  it("goes there only if the signer finds the account to be the payee's for this token", async () => {
    const view = new SolanaView({ ...settings, urls: [node.url] });
    hold(OTHER_ACCOUNT, PAYER);
    paidFrom(OTHER_ACCOUNT);
    const draft = await draftOf();
    expect(draft.toAccount).toBe(OTHER_ACCOUNT);
    expect(await view.payeeFault(draft, PAYER)).toBeNull();
    expect(view.faultOf(draft, order)).toBeNull();
    for (const prepare of [
      () => node.accounts.delete(OTHER_ACCOUNT),
      () => hold(OTHER_ACCOUNT, SOMEBODY),
      () => hold(OTHER_ACCOUNT, PAYER, 0n, OTHER_MINT),
      () => hold(OTHER_ACCOUNT, PAYER, 0n, MINT, true),
      () => node.accounts.set(OTHER_ACCOUNT, { ...mintAccount() }),
      () => node.accounts.set(OTHER_ACCOUNT, { ...node.accounts.get(ATA)!, ...mintAccount(), owner: SOMEBODY }),
    ]) {
      prepare();
      expect(await view.payeeFault(draft, PAYER)).not.toBeNull();
    }
    for (const kind of ['sweep', 'withdrawal', 'settlement'] as const)
      expect(view.faultOf(draft, { ...order, kind })).not.toBeNull();
    expect(view.faultOf({ ...draft, tokenAddress: null }, { ...order, coin: 'SOL', amount: '0.005' })).not.toBeNull();
  });
});
