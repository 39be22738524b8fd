import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { PayoutNetwork } from '../../ports/signer/protocol.ts';
import type { DepositProof, NativeTransfer } from '../../domain/networks/deposit-proof.ts';
import type { UnknownPayer } from '../../domain/networks/unknown-payer.ts';
import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import { amountOf, fromTokenUnits, least, most, type Coin } from '../../domain/money/money.ts';
import { sourceOfUrl } from '../../domain/networks/provider-source.ts';

/** A deposit that the signer itself found on chain. */
export interface FoundDeposit {
  readonly depositKey: string;
  /** Names the transfer whatever block its transaction is in. The key does not where it counts the logs of the block. */
  readonly place: string;
  /** As this service writes the names of its own transactions. */
  readonly txHash: string;
  readonly coin: Coin;
  /** 10^-18 units. */
  readonly units: bigint;
  /** Null unless the chain names exactly one. */
  readonly payer: string | null;
  /** Why that is null; absent where the network knows one reason only. */
  readonly unknownPayer?: UnknownPayer;
  readonly final: boolean;
}

/** Native coin sent to one of our addresses, as the signer itself found it on chain. */
export interface FoundNativeTransfer {
  /** Null unless the chain names exactly one signer. */
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
  /** Includes a margin for fees that rise until the sweep is in a block; 0 if there is nothing to sweep. */
  readonly needed: bigint;
  readonly held: bigint;
}

/** A transaction in the journal. */
export interface JournaledBytes {
  readonly draft: TransactionDraft;
  readonly txHash: string;
  readonly signedBytes: string;
}

/** The signer's own view of one network. Reads throw when no provider answers or two contradict each other. */
export interface ChainView {
  /** The transfer to our collection address; null if it is not in the chain. */
  findDeposit(proof: DepositProof): Promise<FoundDeposit | null>;
  /**
   * The native coin that a transaction sent to one of our addresses; null if it is not in the chain or transferred
   * nothing directly.
   */
  findNativeTransfer(transfer: Pick<NativeTransfer, 'txHash' | 'toAddress'>): Promise<FoundNativeTransfer | null>;
  /** Why the draft does not move exactly this amount of this coin on this chain; null if it does. */
  faultOf(draft: TransactionDraft, order: Pick<OutgoingTransaction, 'kind' | 'coin' | 'amount'>): string | null;
  /** Why the draft's sequence would not make a new transaction of this treasury unique; null if it would. */
  sequenceFault(draft: TransactionDraft, treasury: string): Promise<string | null>;
  /** Why the account that the draft pays into is not the payee's; null if it is, or if the draft names none. */
  payeeFault(draft: TransactionDraft, payee: string): Promise<string | null>;
  /**
   * Whether a transaction can be signed after all of `earlier`, for the same id, without the risk that two of them
   * land.
   */
  mayFollow(earlier: readonly JournaledBytes[], next: TransactionDraft): Promise<boolean>;
  /** Whether it, or one that excludes it, is in the chain, with or without effect. */
  hasLanded(signed: JournaledBytes & { readonly fromAddress: string }): Promise<boolean>;
  /**
   * The native coin that a sweep of the address into the treasury needs now; null where the treasury pays for sweeps.
   */
  sweepGas(address: string, treasury: string): Promise<SweepGas | null>;
  /**
   * True if, in the final state, none of the entries moved money and none ever can. `seenIn`: the block of the one that
   * excludes the others, where it is known.
   */
  hadNoEffect(entries: readonly JournaledBytes[], seenIn?: number): Promise<boolean>;
}

/** Whether a draft's base units are exactly the amount. False for an amount finer than the token. */
export function isExactly(units: string, amount: string, decimals: number): boolean {
  return fromTokenUnits(BigInt(units), decimals) === amountOf(amount);
}

/** The signer cannot see the chain well enough to decide. */
export class ViewUnavailable extends Error {
  override readonly name = 'ViewUnavailable';
}

/** A provider answered that it does not do this, or does not have it. */
export class Refused extends ViewUnavailable {}

/** Rounds in which providers that gave no answer are asked again: a busy node breaks off what it computes. */
const [ROUNDS, AGAIN_MS] = [3, 200];

/** What each provider answers, one after the other. Those that gave no answer follow again, and last as the fault. */
async function* answersOf<Value>(
  { urls }: PayoutNetwork,
  read: (url: string) => Promise<Value>,
): AsyncGenerator<{ readonly value: Value; readonly source: string } | { readonly fault: string }> {
  let open = urls;
  for (let round = 1; open.length > 0; round += 1) {
    if (round > 1) await sleep(AGAIN_MS);
    const again: string[] = [];
    for (const url of open) {
      try {
        yield { value: await read(url), source: sourceOfUrl(url) };
      } catch (error) {
        // Silence has already cost its whole time.
        if (!(error instanceof ViewUnavailable)) yield { fault: 'a provider did not answer' };
        else if (round === ROUNDS) yield { fault: error.message };
        else again.push(url);
      }
    }
    open = again;
  }
}

/** How many must say the same: two, or the only one there is. Two URLs of one host are one provider. */
const voicesNeeded = ({ urls }: PayoutNetwork): number => Math.min(2, new Set(urls.map(sourceOfUrl)).size);

/** Asks providers until two agree, or the only one there is. */
export async function agreed<Value>(network: PayoutNetwork, read: (url: string) => Promise<Value>): Promise<Value> {
  const needed = voicesNeeded(network);
  const votes = new Map<string, { readonly value: Value; readonly sources: Set<string> }>();
  let lastFault = 'no provider is configured';
  for await (const answer of answersOf(network, read)) {
    if ('fault' in answer) {
      lastFault = answer.fault;
      continue;
    }
    const key = JSON.stringify(answer.value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part));
    const vote = votes.get(key) ?? { value: answer.value, sources: new Set() };
    vote.sources.add(answer.source);
    votes.set(key, vote);
    if (vote.sources.size >= needed) return vote.value;
  }
  throw new ViewUnavailable(
    votes.size > 1 ? `the providers of ${network.network} do not agree` : `${network.network}: ${lastFault}`,
  );
}

/** The answers of two providers, or of the only one, where equal answers cannot be expected. */
export async function opinions<Value>(
  network: PayoutNetwork,
  read: (url: string) => Promise<Value>,
): Promise<readonly Value[]> {
  const needed = voicesNeeded(network);
  const values = new Map<string, Value>();
  for await (const answer of answersOf(network, read)) {
    if ('value' in answer) values.set(answer.source, answer.value);
    if (values.size === needed) return [...values.values()];
  }
  throw new ViewUnavailable(`${network.network}: ${values.size} of ${needed} providers answered`);
}

/** The smallest need and the largest holding of all answers, so that a single lying provider gains nothing. */
export const cautiousGas = (answers: readonly SweepGas[]): SweepGas => ({
  needed: answers.map(({ needed }) => needed).reduce(least),
  held: answers.map(({ held }) => held).reduce(most),
});

/** Asks every provider; all must confirm. */
export async function unanimous(network: PayoutNetwork, holds: (url: string) => Promise<boolean>): Promise<boolean> {
  const answers = await Promise.all(
    network.urls.map(async (url) => {
      for await (const answer of answersOf({ ...network, urls: [url] }, holds))
        return 'value' in answer ? answer.value : null;
      return null;
    }),
  );
  if (answers.includes(false)) return false;
  if (answers.length === 0 || answers.includes(null))
    throw new ViewUnavailable(`not every provider of ${network.network} answered`);
  return true;
}

/** `form`: what is read of the answer; a provider that answers anything else is not believed. */
export async function postJson<Value>(
  network: PayoutNetwork,
  url: string,
  body: unknown,
  form: z.ZodType<Value>,
): Promise<Value> {
  const headers = { ...network.headers, 'content-type': 'application/json' };
  const { post } = await import('./provider-request.ts');
  const answer = await post(url, headers, JSON.stringify(body));
  if (answer.statusCode !== 200) {
    await answer.body.dump();
    throw new ViewUnavailable(`a provider answered with status ${answer.statusCode}`);
  }
  return inForm(await answer.body.json(), form);
}

const rpcAnswer = z.object({ result: z.unknown().optional(), error: z.object({ code: z.number() }).nullish() });

/** JSON-RPC 2.0. */
export async function rpc<Value>(
  network: PayoutNetwork,
  url: string,
  { method, params }: { readonly method: string; readonly params: readonly unknown[] },
  form: z.ZodType<Value>,
): Promise<Value> {
  const { result, error } = await postJson(network, url, { jsonrpc: '2.0', id: 1, method, params }, rpcAnswer);
  if (error || result === undefined) throw new Refused(`a provider refused ${method} (${error?.code ?? 'no result'})`);
  return inForm(result, form);
}

function inForm<Value>(answer: unknown, form: z.ZodType<Value>): Value {
  const read = form.safeParse(answer);
  if (!read.success) throw new ViewUnavailable('a provider answered in an unknown form');
  return read.data;
}
