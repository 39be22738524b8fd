import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Block } from '../../ports/chain/chain.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { faultOf } from '../rpc/dialects.ts';
import { inForm } from '../rpc/in-form.ts';
import {
  tronListedTransaction,
  tronTransactionInfo,
  type TronListedTransaction,
  type TronTransactionInfo,
} from './receipt.ts';

/** `wallet` answers with the newest block, `walletsolidity` only with solidified data. */
export type TronView = 'wallet' | 'walletsolidity';

/** `{}` says that there is no such thing; any other answer must have its fields, or it is none. */
export const orNothing = <Value>(form: z.ZodType<Value>) => z.union([z.strictObject({}).transform(() => null), form]);

/** Of the transactions; zeros only where there are none. */
const txTrieRoot = z.string().default('');

/** Absent fields have protocol buffer defaults: the first block has neither number nor time. */
export const tronBlock = z.object({
  blockID: z.string().regex(/^[0-9a-f]{64}$/i),
  block_header: z.object({
    raw_data: z.union([
      z.object({ number: z.int().min(1), parentHash: z.string(), timestamp: z.number(), txTrieRoot }),
      z
        .object({
          number: z.literal(0).nullish(),
          parentHash: z.string().default(''),
          timestamp: z.number().default(0),
        })
        .transform((raw) => ({ ...raw, number: 0, txTrieRoot: '' })),
    ]),
  }),
  transactions: z.array(tronListedTransaction).nullish(),
});
const blockReceipts = z.array(tronTransactionInfo);

/** TronGrid suspends keys that ignore its limits; its documentation demands at least this pause. */
const LIMITED_PAUSE_MS = 30_000;
/** A busy node breaks off what it computes, and the next attempt succeeds. */
const [ATTEMPTS, AGAIN_MS] = [3, 100];

/** One call. What has not the form of an answer says nothing, whatever it lacks, and is asked again. */
export async function ask<Value>(
  provider: RpcProvider,
  form: z.ZodType<Value>,
  view: TronView,
  call: string,
  body: unknown,
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await post(provider, view, call, body);
    const read = form.safeParse(answer);
    if (read.success) return read.data;
    if (attempt === ATTEMPTS) return inForm(form, answer, `${call}${brokenOff(answer)}`);
    await sleep(AGAIN_MS * attempt);
  }
}

/** One POST. */
const post = (provider: RpcProvider, view: TronView, call: string, body: unknown): Promise<unknown> =>
  provider.post(`/${view}/${call}`, body, `${view}/${call}`).catch((error: unknown) => {
    if (error instanceof ProviderFault && error.kind === 'rate-limited')
      throw new ProviderFault('rate-limited', error.message, Math.max(LIMITED_PAUSE_MS, error.retryAfterMs ?? 0));
    throw error instanceof RpcError ? faultOf(error, call) : error;
  });

const refusedCall = z.object({ result: z.object({ code: z.string(), message: z.string().default('') }) });

/** What a node says of a call that it did not finish: ` (OTHER_ERROR: ...)`; empty if it says nothing. */
function brokenOff(answer: unknown): string {
  const { data } = refusedCall.safeParse(answer);
  return data ? ` (${data.result.code}: ${textOf(data.result.message).slice(0, 120)})` : '';
}

/** Nodes write messages as the hex of their text. */
export const textOf = (message: string): string =>
  /^(?:[0-9a-f]{2})+$/i.test(message) ? Buffer.from(message, 'hex').toString('utf8') : message;

/** The newest block of a view. */
export async function newestBlock(provider: RpcProvider, view: TronView): Promise<Block> {
  const block = await headerOf(provider, view, null);
  if (block === null) throw new ProviderFault('behind', `${view} serves no block`);
  provider.report(view === 'wallet' ? 'head' : 'final', block.number);
  return block;
}

/** Null if the provider has no block with that number. */
export async function blockAt(provider: RpcProvider, number: number): Promise<Block | null> {
  const block = await headerOf(provider, 'wallet', number);
  if (block !== null && block.number !== number)
    throw new ProviderFault('inconsistent', `answered block ${block.number} for ${number}`);
  return block;
}

/**
 * Until when a provider counts as one without `getblock`, the only call that returns a header without all its
 * transactions.
 */
const withoutGetBlock = new WeakMap<RpcProvider, number>();
const WITHOUT_CALL_MS = 600_000;

/** The newest block for `null`. */
async function headerOf(provider: RpcProvider, view: TronView, number: number | null): Promise<Block | null> {
  const form = orNothing(tronBlock);
  const isKnown = performance.now() < (withoutGetBlock.get(provider) ?? 0);
  if (!isKnown) {
    try {
      const wanted = number === null ? { detail: false } : { id_or_num: String(number), detail: false };
      return readHeader(await ask(provider, form, view, 'getblock', wanted));
    } catch (error) {
      if (!isUnknownCall(error)) throw error;
    }
  }
  const block =
    number === null
      ? await ask(provider, form, view, 'getnowblock', {})
      : await ask(provider, form, view, 'getblockbynum', { num: number });
  if (!isKnown) withoutGetBlock.set(provider, performance.now() + WITHOUT_CALL_MS);
  return readHeader(block);
}

/** The answer of a node to a path that it does not serve. */
export const isUnknownPath = (error: unknown): boolean =>
  error instanceof ProviderFault && /status 40[45]\b/.test(error.message);

function isUnknownCall(error: unknown): boolean {
  return isUnknownPath(error) || (error instanceof ProviderFault && ['incapable', 'unknown'].includes(error.kind));
}

export async function mustHaveBlock(provider: RpcProvider, number: number): Promise<Block> {
  const block = await blockAt(provider, number);
  if (block === null) throw new ProviderFault('behind', `does not have block ${number} yet`);
  return block;
}

function readHeader(block: z.infer<typeof tronBlock> | null): Block | null {
  if (block === null) return null;
  const { number, parentHash, timestamp } = block.block_header.raw_data;
  return { number, hash: block.blockID, parentHash, timeSec: Math.floor(timestamp / 1000) };
}

/** Null if the view has no such transaction. */
export async function transactionInfo(
  provider: RpcProvider,
  view: TronView,
  txHash: string,
): Promise<TronTransactionInfo | null> {
  const form = orNothing(tronTransactionInfo);
  const info = await ask(provider, form, view, 'gettransactioninfobyid', { value: txHash });
  if (info !== null && info.id !== txHash)
    throw new ProviderFault('inconsistent', `answered transaction ${info.id} for ${txHash}`);
  return info;
}

/**
 * All receipts of a block. `[]` means an empty block, or a machine behind the provider's load balancer that has not
 * seen the block yet, so it counts only if the block itself has no transactions.
 */
export async function receiptsOfBlock(provider: RpcProvider, number: number): Promise<readonly TronTransactionInfo[]> {
  // What the first block gives out has no receipts.
  if (number === 0) return [];
  const receipts = await ask(provider, blockReceipts, 'wallet', 'gettransactioninfobyblocknum', { num: number });
  if (receipts.length === 0 && (await wholeBlock(provider, number)).transactions.length > 0)
    throw new ProviderFault('behind', `has no receipts yet for block ${number}`);
  for (const receipt of receipts) {
    if (receipt.blockNumber !== number)
      throw new ProviderFault('inconsistent', `answered foreign receipts for block ${number}`);
  }
  return receipts;
}

/** The transactions that the block lists. Throws if the provider has a different block there by now. */
export async function transactionsOf(
  provider: RpcProvider,
  { number, hash }: Block,
): Promise<readonly TronListedTransaction[]> {
  const { blockID, transactions } = await wholeBlock(provider, number);
  if (blockID !== hash) throw new ProviderFault('inconsistent', `answered two blocks for ${number}`);
  return transactions;
}

async function wholeBlock(provider: RpcProvider, number: number) {
  const block = await ask(provider, orNothing(tronBlock), 'wallet', 'getblockbynum', { num: number });
  if (block === null) throw new ProviderFault('behind', `does not have block ${number} yet`);
  return { blockID: block.blockID, transactions: listedIn(block) };
}

/** The transactions of a whole block. A list that is missing is no empty one. */
export function listedIn({ block_header, transactions }: z.infer<typeof tronBlock>): readonly TronListedTransaction[] {
  const { number, txTrieRoot: root } = block_header.raw_data;
  if (!transactions?.length && /[^0]/.test(root))
    throw new ProviderFault('inconsistent', `answered block ${number} without its transactions`);
  return transactions ?? [];
}

/** The receipts of exactly the transactions that the block lists. */
export async function completeReceiptsOf(provider: RpcProvider, block: Block): Promise<readonly TronTransactionInfo[]> {
  const [receipts, listed] = await Promise.all([
    receiptsOfBlock(provider, block.number),
    transactionsOf(provider, block),
  ]);
  assertComplete(block, receipts, listed);
  return receipts;
}

export function assertComplete(
  { number }: Block,
  receipts: readonly TronTransactionInfo[],
  listed: readonly TronListedTransaction[],
): void {
  const ids = new Set(receipts.map(({ id }) => id));
  if (ids.size !== listed.length || !listed.every(({ txID }) => ids.has(txID)))
    throw new ProviderFault('inconsistent', `answered other receipts of block ${number} than it lists transactions`);
}

/** Two blocks of one height come from the slots of two producers, so their times differ. */
export function assertSameBlock(block: Block, receipt: TronTransactionInfo | undefined): void {
  if (receipt && Math.floor(receipt.blockTimeStamp / 1000) !== block.timeSec) {
    throw new ProviderFault('inconsistent', `answered receipts and header of different blocks at ${block.number}`);
  }
}
