import { isCancelling } from '../../domain/events/transaction-draft.ts';
import { formatAmount } from '../../domain/money/money.ts';
import { OUTCOMES } from '../../domain/networks/outcomes.ts';
import type {
  Fate,
  Funding,
  LandedCheck,
  LandedTransaction,
  SentTransaction,
} from '../../ports/outgoing/transaction.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import {
  feeOf,
  finalNumber,
  findReceipt,
  fromQuantity,
  isNotKnown,
  mustReadHeader,
  readHeader,
  readReceipt,
  readTransaction,
  type RawLog,
  type RawReceipt,
} from './rpc.ts';
import { forgottenReceipt } from './forgotten.ts';
import { topicOf, TRANSFER_TOPIC } from './transfer-log.ts';
import { must } from '../../domain/values/must.ts';

const FORGOTTEN_AFTER_SEC = 86_400;

interface Expected {
  readonly tokenAddress: string;
  readonly from: string;
  readonly to: string;
  readonly units: bigint;
}

interface Asked {
  readonly sent: readonly SentTransaction[];
  readonly from: string;
  /** The token transfer that the receipt must contain; null for native coin, where success is enough. */
  readonly expected: Expected | null;
  /** Null: the chain's own finality. */
  readonly depth: number | null;
}

/** `isWhole`: the node has answered for all; while it builds its index, it does not know what it has. */
async function receiptsOf(
  provider: RpcProvider,
  sent: readonly SentTransaction[],
): Promise<{ readonly receipts: readonly RawReceipt[]; readonly isWhole: boolean }> {
  const answers = await Promise.all(sent.map(({ txHash }) => orNotKnown(readReceipt(provider, txHash))));
  return {
    receipts: answers.filter((answer) => answer !== 'not known' && answer !== null),
    isWhole: !answers.includes('not known'),
  };
}

const orNotKnown = <Value>(answer: Promise<Value>): Promise<Value | 'not known'> =>
  answer.catch((error: unknown) => {
    if (isNotKnown(error)) return 'not known';
    throw error;
  });

/** One provider's view of everything signed for one nonce. */
export async function fateAt(provider: RpcProvider, asked: Asked): Promise<Fate> {
  const [receipt] = (await receiptsOf(provider, asked.sent)).receipts;
  return receipt ? fateInBlock(provider, asked, receipt) : outsideBlocks(provider, asked);
}

async function fateInBlock(provider: RpcProvider, asked: Asked, receipt: RawReceipt): Promise<Fate> {
  const number = fromQuantity(receipt.blockNumber, 'block number');
  const { block } = await mustReadHeader(provider, number);
  if (block.hash !== receipt.blockHash)
    throw new ProviderFault('inconsistent', 'the receipt is of a block that left the chain');
  const [head, finalizedNumber] = await Promise.all([mustReadHeader(provider, 'latest'), finalNumber(provider)]);
  const final = number <= finalizedNumber;
  const txHash = receipt.transactionHash;
  const networkFee = formatAmount(feeOf(receipt));
  const isCancellation = asked.sent.some((sent) => sent.txHash === txHash && isCancelling(sent));
  const outcome = OUTCOMES[isCancellation ? 'evm-cancel' : 'evm'](receipt);
  if (outcome === 'unclear') throw new ProviderFault('incapable', 'answered a receipt without a status');
  // A result that releases the money must be as final as the chain allows.
  if (outcome === 'nothing')
    return final
      ? { kind: 'ineffective', txHash, networkFee, blockNumber: number }
      : { kind: 'pending', inBlock: true };
  if (asked.expected !== null && !receipt.logs.some((log) => isExpected(log, must(asked.expected))))
    return { kind: 'alarm', detail: `${txHash} succeeded without the transfer it was signed for` };
  const deep = final || (asked.depth !== null && head.block.number - number + 1 >= asked.depth);
  if (!deep) return { kind: 'pending', inBlock: true };
  return {
    kind: 'landed',
    landed: { txHash, blockNumber: number, blockHash: block.hash, blockTimeSec: block.timeSec, networkFee },
    final,
  };
}

/** Without a receipt the transaction is in a mempool, was dropped or forgotten, or its nonce was used by another. */
async function outsideBlocks(provider: RpcProvider, asked: Asked): Promise<Fate> {
  const { sent, from } = asked;
  const last = must(sent.at(-1));
  if (last.validity.kind !== 'evm-nonce') throw new Error('not a transaction of this chain');
  const { nonce } = last.validity;
  if ((await finalCount(provider, from)) > nonce) {
    // Asked again after the count, because the receipt may have appeared between the two answers.
    const { receipts, isWhole } = await receiptsOf(provider, sent);
    if (receipts.length > 0 || !isWhole) return { kind: 'pending', inBlock: true };
    const forgotten = await forgottenReceipt(provider, { ...asked, nonce });
    if (forgotten !== null && forgotten !== 'foreign') return fateInBlock(provider, asked, forgotten);
    const detail = `nonce ${nonce} of ${from} was used by a transaction that is not ours`;
    if (forgotten === 'foreign') return { kind: 'alarm', detail };
    const { block } = await mustReadHeader(provider, 'latest');
    if (!mayBeForgotten(last, block.timeSec))
      return { kind: 'alarm', detail: `${detail}, or a provider lost ${last.txHash}` };
    const unseen = `nonce ${nonce} of ${from} is used, and no provider shows ${last.txHash} or its block any more`;
    return { kind: 'pending', inBlock: true, unseen };
  }
  const known = await Promise.all(sent.map(({ txHash }) => orNotKnown(readTransaction(provider, txHash))));
  // What is not known yet may be sent again: a node that has it says so.
  const isHeld = known.some((transaction) => transaction !== 'not known' && transaction !== null);
  return isHeld ? { kind: 'pending', inBlock: false } : { kind: 'absent' };
}

/** Nodes know a transaction by its hash for days at least. */
const mayBeForgotten = ({ signedAtSec }: SentTransaction, nowSec: number): boolean =>
  signedAtSec !== undefined && nowSec - signedAtSec > FORGOTTEN_AFTER_SEC;

/** Whether all are in blocks of this provider's chain that are final or deep enough, with effect. */
export async function areHeldAt(
  provider: RpcProvider,
  { funding, depth }: { readonly funding: readonly Funding[] } & Pick<Asked, 'depth'>,
): Promise<boolean> {
  for (const { txHash, blockNumber } of funding) {
    const receipt = await (blockNumber === undefined
      ? readReceipt(provider, txHash)
      : findReceipt(provider, txHash, blockNumber));
    if (receipt === null || OUTCOMES.evm(receipt) !== 'moved') return false;
    const number = fromQuantity(receipt.blockNumber, 'block number');
    const header = await readHeader(provider, number);
    if (header?.block.hash !== receipt.blockHash) return false;
    if (number <= (await finalNumber(provider))) continue;
    if (depth === null || (await mustReadHeader(provider, 'latest')).block.number - number + 1 < depth) return false;
  }
  return true;
}

/**
 * How many transactions of the account are final. A node that keeps no state as old as finality is does not know: then
 * nothing counts as final yet.
 */
async function finalCount(provider: RpcProvider, from: string): Promise<number> {
  const answer = await provider.call('eth_getTransactionCount', [from, 'finalized']).catch((error: unknown) => {
    if (isNotKnown(error)) return '0x0';
    throw error;
  });
  return fromQuantity(answer, 'transaction count');
}

export async function vanishedAt(
  provider: RpcProvider,
  { txHash, blockNumber, blockHash }: Pick<LandedTransaction, 'txHash' | 'blockNumber' | 'blockHash'>,
): Promise<LandedCheck> {
  const head = await mustReadHeader(provider, 'latest');
  const seen = { vanished: false, withheld: false, final: false, headNumber: head.block.number };
  const receipt = await findReceipt(provider, txHash, blockNumber);
  if (receipt !== null) {
    const number = fromQuantity(receipt.blockNumber, 'block number');
    const header = await readHeader(provider, number);
    const finalized = await finalNumber(provider);
    // In another block, the same transaction may have failed: then it has paid nothing any more.
    if (header?.block.hash === receipt.blockHash)
      return { ...seen, vanished: OUTCOMES.evm(receipt) === 'nothing', final: number <= finalized };
  }
  // It is missing where its receipt places it. Only another block at that height proves that it is gone.
  const there = await mustReadHeader(provider, blockNumber);
  const isReplaced = there.block.hash !== blockHash;
  return { ...seen, vanished: isReplaced, withheld: !isReplaced };
}

function isExpected(log: RawLog, { tokenAddress, from, to, units }: Expected): boolean {
  return (
    log.address === tokenAddress.toLowerCase() &&
    log.topics.length === 3 &&
    log.topics[0] === TRANSFER_TOPIC &&
    log.topics[1] === topicOf(from) &&
    log.topics[2] === topicOf(to) &&
    /^0x[0-9a-f]{64}$/i.test(log.data) &&
    BigInt(log.data) === units
  );
}
