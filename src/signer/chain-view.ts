import { Agent, request } from 'undici';
import type { PayoutNetwork } from '../ports/signer-protocol.ts';
import type { DepositProof, NativeTransfer } from '../domain/deposit-proof.ts';
import type { TransactionDraft } from '../domain/events/transaction-draft.ts';
import type { OutgoingTransaction } from '../ports/outgoing.ts';
import { amountOf, fromTokenUnits, least, most, type Coin } from '../domain/money.ts';

/** A deposit as the signer itself found it on chain. */
export interface FoundDeposit {
  readonly depositKey: string;
  readonly coin: Coin;
  /** 10^-18 units. */
  readonly units: bigint;
  /** Null when the chain does not name exactly one. */
  readonly payer: string | null;
  readonly final: boolean;
}

/** Native coin that came to one of our addresses, as the signer itself found it on chain. */
export interface FoundNativeTransfer {
  /** Null when the chain does not name exactly one who signed for it. */
  readonly fromAddress: string | null;
  /** 10^-18 units. */
  readonly units: bigint;
  readonly final: boolean;
}

export interface SignedBytes {
  readonly txHash: string;
  readonly signedBytes: string;
}

/** 10^-18 units of the native coin. */
export interface SweepGas {
  /** With room for a fee that rises until the sweep is in a block; 0 where there is nothing to sweep. */
  readonly needed: bigint;
  readonly held: bigint;
}

/** A transaction that the journal holds. */
export interface JournaledBytes {
  readonly draft: TransactionDraft;
  readonly txHash: string;
  readonly signedBytes: string;
}

/** The signer's own eyes on one network. Reads throw when no provider answers or two contradict each other. */
export interface ChainView {
  /** The transfer to our collection address; null when it is not in the chain. */
  findDeposit(proof: DepositProof): Promise<FoundDeposit | null>;
  /**
   * What a transaction brought one of our addresses of the native coin; null when it is not in the chain or brought
   * nothing by itself.
   */
  findNativeTransfer(transfer: Pick<NativeTransfer, 'txHash' | 'toAddress'>): Promise<FoundNativeTransfer | null>;
  /** Why the draft does not move exactly this amount of this coin on this chain; null when it does. */
  faultOf(draft: TransactionDraft, order: Pick<OutgoingTransaction, 'kind' | 'coin' | 'amount'>): string | null;
  /**
   * Why the chain would not tell a new transaction of this treasury apart from others by what the draft names; null
   * when it would.
   */
  sequenceFault(draft: TransactionDraft, treasury: string): Promise<string | null>;
  /**
   * Whether a transaction may be signed after all of `earlier`, of one name, without a chance that two of them land.
   */
  mayFollow(earlier: readonly JournaledBytes[], next: TransactionDraft): Promise<boolean>;
  /** Whether the transaction is in the chain, with effect or without. */
  hasLanded(txHash: string): Promise<boolean>;
  /**
   * What a sweep of the address into the treasury needs of the native coin now; null where the treasury itself pays for
   * sweeps.
   */
  sweepGas(address: string, treasury: string): Promise<SweepGas | null>;
  /** True when, on final state, none of the entries moved money and none ever can. */
  hadNoEffect(entries: readonly JournaledBytes[]): Promise<boolean>;
}

/** Whether a draft's base units are exactly the amount; no amount that is finer than the token is. */
export function isExactly(units: string, amount: string, decimals: number): boolean {
  return fromTokenUnits(BigInt(units), decimals) === amountOf(amount);
}

/** The signer cannot see the chain well enough to judge. */
export class ViewUnavailable extends Error {
  override readonly name = 'ViewUnavailable';
}

/** For the whole answer: one that drips must not keep the signer from everybody else. */
const TIMEOUT_MS = 8_000;
/** The largest honest answer is the receipt of a transaction with some thousand logs. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const providers = new Agent({ maxResponseSize: MAX_ANSWER_BYTES, connectTimeout: TIMEOUT_MS });

/** Asks as many providers as it takes for two to agree, or the only one there is. */
export async function agreed<Value>(network: PayoutNetwork, read: (url: string) => Promise<Value>): Promise<Value> {
  const needed = Math.min(2, network.urls.length);
  const votes = new Map<string, { value: Value; count: number }>();
  let lastFault = 'no provider is configured';
  for (const url of network.urls) {
    try {
      const value = await read(url);
      const key = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part));
      const vote = votes.get(key) ?? { value, count: 0 };
      vote.count += 1;
      votes.set(key, vote);
      if (vote.count >= needed) return vote.value;
    } catch (error) {
      lastFault = error instanceof ViewUnavailable ? error.message : 'a provider did not answer';
    }
  }
  throw new ViewUnavailable(
    votes.size > 1 ? `the providers of ${network.network} do not agree` : `${network.network}: ${lastFault}`,
  );
}

/** What two providers say, or the only one there is, where equal answers cannot be expected. */
export async function opinions<Value>(
  network: PayoutNetwork,
  read: (url: string) => Promise<Value>,
): Promise<readonly Value[]> {
  const needed = Math.min(2, network.urls.length);
  const values: Value[] = [];
  for (const url of network.urls) {
    if (values.length === needed) break;
    await read(url).then(
      (value) => values.push(value),
      () => undefined,
    );
  }
  if (values.length < needed)
    throw new ViewUnavailable(`${network.network}: ${values.length} of ${needed} providers answered`);
  return values;
}

/**
 * The least that any provider says is needed, and the most that any says is there: one of them that lies gains nothing.
 */
export const cautiousGas = (answers: readonly SweepGas[]): SweepGas => ({
  needed: answers.map(({ needed }) => needed).reduce(least),
  held: answers.map(({ held }) => held).reduce(most),
});

/** Asks every provider: what one of them does not confirm is not proven. */
export async function unanimous(network: PayoutNetwork, holds: (url: string) => Promise<boolean>): Promise<boolean> {
  const answers = await Promise.all(network.urls.map((url) => holds(url).catch(() => null)));
  if (answers.includes(false)) return false;
  if (answers.length === 0 || answers.includes(null))
    throw new ViewUnavailable(`not every provider of ${network.network} answered`);
  return true;
}

export async function postJson(network: PayoutNetwork, url: string, body: unknown): Promise<unknown> {
  const headers = { ...network.headers, 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await request(url, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    dispatcher: providers,
    signal,
  });
  if (answer.statusCode !== 200) {
    await answer.body.dump();
    throw new ViewUnavailable(`a provider answered with status ${answer.statusCode}`);
  }
  return answer.body.json();
}

/** JSON-RPC 2.0. */
export async function rpc(network: PayoutNetwork, url: string, method: string, params: unknown): Promise<unknown> {
  const answer = (await postJson(network, url, { jsonrpc: '2.0', id: 1, method, params })) as {
    result?: unknown;
    error?: { code: number };
  };
  if (answer.error || answer.result === undefined)
    throw new ViewUnavailable(`a provider refused ${method} (${answer.error?.code ?? 'no result'})`);
  return answer.result;
}
