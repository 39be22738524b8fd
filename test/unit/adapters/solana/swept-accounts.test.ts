import { Transaction } from '@solana/web3.js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRpcPool } from '../../../../src/adapters/rpc/pool.ts';
import { SolanaOutgoing } from '../../../../src/adapters/solana/outgoing.ts';
import { base58, fromBase58 } from '../../../../src/chain-formats/base58.ts';
import { nonceAccountOf } from '../../../../src/chain-formats/solana-nonce.ts';
import { associatedTokenAccount } from '../../../../src/chain-formats/spl-token.ts';
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

/* Money that somebody paid into another account of a collection address than the usual one. */

type SolanaDraft = Extract<TokenDraft, { kind: 'solana' }>;

const wallet = new Wallet('test test test test test test test test test test test junk');
const treasury = wallet.treasury.solana;
const key = (fill: number): string => base58(Buffer.alloc(32, fill));
const [MINT, SECOND, THIRD, SOMEBODY] = [key(7), key(11), key(12), key(9)];
const ADDRESS = wallet.collectionAddress('solana', 3);
const USUAL = associatedTokenAccount(ADDRESS, MINT);
const settings: NetworkSettings = {
  ...{ network: 'solana', mode: 'test', chainId: MAINNET_GENESIS },
  tokens: [{ coin: 'USDT', address: MINT, decimals: 6 }],
  ...{ simulated: false, mainNetwork: true, explorerTransactionUrl: null },
};
const sweepOf = (amount: string): OutgoingTransaction =>
  outgoing({
    ...{ kind: 'sweep', id: 'swp_1', network: 'solana', coin: 'USDT', amount },
    ...{ fromAddress: ADDRESS, toAddress: treasury, derivationIndex: 3 },
  });

let node: PlayedSolanaNode;
let payouts: SolanaOutgoing;
beforeEach(async () => {
  node = await playSolanaNode(5_000);
  node.accounts.set(MINT, mintAccount()).set(nonceAccountOf(treasury, 0), nonceAccount(treasury, key(5)));
  hold(associatedTokenAccount(treasury, MINT), treasury, 0n);
  hold(USUAL, ADDRESS, 2_000_000n);
  hold(SECOND, ADDRESS, 3_000_000n);
  hold(THIRD, ADDRESS, 9_000_000n, true);
  hold(key(13), SOMEBODY, 9_000_000n);
  node.override = ({ method }) => {
    if (method === 'getRecentPrioritizationFees') return { result: [] };
    if (method === 'getBalance') return { result: { context: { slot: 5_000 }, value: 10 ** 9 } };
    return method === 'getMinimumBalanceForRentExemption' ? { result: 890_880 } : undefined;
  };
  payouts = new SolanaOutgoing({
    ...{ settings, pool: createRpcPool({ network: 'solana', urls: [node.url] }), maxPrice: 25_000_000 },
  });
});
afterEach(async () => {
  await payouts.close();
  await node.close();
});

const hold = (account: string, owner: string, units: bigint, isFrozen = false): unknown =>
  node.accounts.set(account, tokenAccountData(fromBase58(MINT)!, fromBase58(owner)!, units, isFrozen));
const draftOf = async (order: OutgoingTransaction) => (await payouts.draft(order, null, {})) as SolanaDraft;

it('a sweep takes it where the usual account has too little, and nothing else then', async () => {
  expect((await draftOf(sweepOf('2.00'))).fromAccounts).toBeUndefined();
  expect(await payouts.check(sweepOf('5.00'), NOTHING_RESERVED)).toEqual({ kind: 'ready' });
  expect(await payouts.check(sweepOf('5.01'), NOTHING_RESERVED)).toMatchObject({ reason: 'insufficient_funds' });
  expect(await payouts.heldElsewhere(ADDRESS)).toEqual({ USDT: 12n * 10n ** 18n });
  const draft = await draftOf(sweepOf('4.50'));
  expect(draft.fromAccounts).toEqual([
    { account: USUAL, units: '2000000' },
    { account: SECOND, units: '2500000' },
  ]);
  const { signedBytes } = await signedBytesOf(draft, sweepOf('4.50'), wallet);
  const moves = Transaction.from(Buffer.from(signedBytes, 'base64')).instructions.filter(
    ({ programId, data }) => programId.toBase58() === TOKEN_PROGRAM && data[0] === 12,
  );
  expect(moves.map(({ keys, data }) => [keys[0]!.pubkey.toBase58(), data.readBigUInt64LE(1)])).toEqual([
    [USUAL, 2_000_000n],
    [SECOND, 2_500_000n],
  ]);
  const to = associatedTokenAccount(treasury, MINT);
  expect(moves.map(({ keys }) => [keys[2]!.pubkey.toBase58(), keys[3]!.pubkey.toBase58()])).toEqual([
    [to, ADDRESS],
    [to, ADDRESS],
  ]);
});

it('the signer lets only a sweep name accounts, each once, that make up the whole amount', async () => {
  const view = new SolanaView({ ...settings, urls: [node.url] });
  const order = sweepOf('4.50');
  const draft = await draftOf(order);
  const [usual, second] = draft.fromAccounts!;
  expect(view.faultOf(draft, order)).toBeNull();
  for (const fromAccounts of [[usual!], [usual!, second!, second!], [usual!, { ...second!, units: '2500001' }]])
    expect(view.faultOf({ ...draft, fromAccounts }, order)).toMatch(/not the whole amount/);
  const twice = [usual!, { ...usual!, units: '2500000' }];
  expect(view.faultOf({ ...draft, fromAccounts: twice }, order)).toMatch(/not the whole amount/);
  for (const kind of ['refund', 'return', 'withdrawal', 'settlement'] as const)
    expect(view.faultOf(draft, { ...order, kind })).toMatch(/only a sweep/);
});

it('what was swept from several accounts is one landed sweep', async () => {
  const order = sweepOf('4.50');
  const draft = await draftOf(order);
  const { txHash, signedBytes } = await signedBytesOf(draft, order, wallet);
  const of = (accountIndex: number, owner: string, amount: string) => ({
    ...{ accountIndex, mint: MINT, owner, programId: TOKEN_PROGRAM, uiTokenAmount: { amount } },
  });
  node.transactions.set(txHash, {
    slot: 4_000,
    meta: {
      ...{ err: null, fee: 10_000, preBalances: [1_000_000, 1, 1, 1], postBalances: [990_000, 1, 1, 1] },
      preTokenBalances: [of(1, ADDRESS, '2000000'), of(2, ADDRESS, '3000000'), of(3, treasury, '0')],
      postTokenBalances: [of(1, ADDRESS, '0'), of(2, ADDRESS, '500000'), of(3, treasury, '4500000')],
    },
    transaction: {
      message: { accountKeys: [treasury, USUAL, SECOND, associatedTokenAccount(treasury, MINT)] },
    },
  } as never);
  const validity = { kind: 'solana-nonce', nonceIndex: 0, nonce: draft.nonce } as const;
  expect(await payouts.fate(order, [{ txHash, signedBytes, validity }])).toMatchObject({
    kind: 'landed',
    landed: { txHash, networkFee: '0.00001' },
  });
});
