import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JournalPlace, TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import type { OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';
import type { Signature } from '../../src/ports/outgoing/signer.ts';
import type { PayoutRules } from '../../src/ports/signer/protocol.ts';
import { MethodRefused } from '../../src/signer/method.ts';
import { callMethod } from '../../src/signer/methods.ts';
import { Outgoing } from '../../src/signer/outgoing.ts';
import { approverKey } from './approvers.ts';
import { BookedRefunds } from './booked-refunds.ts';
import { modelEvm } from './model-chains/evm-model.ts';
import { MODEL_WALLET, type ModelChain } from './model-chains/model-chain.ts';
import { modelSolana } from './model-chains/solana-model.ts';
import { modelTron } from './model-chains/tron-model.ts';

/* What every search shares in which a worker lies to the signer. */

/** Who sign what they are shown, and nothing else; what becomes of their signatures is the worker's. */
export const PEOPLE = ['ada', 'ben', 'cleo'];
export const COIN = 1_000_000n;
export const SEARCH_MS = 1_800_000_000_000;

export const MODELS = [
  ['ethereum', modelEvm],
  ['tron', modelTron],
  ['solana', modelSolana],
] as const;

/** The signer, asked through its door as its socket hands requests on, and what it answered about its journal. */
export class SearchedSigner {
  #signer: Outgoing;
  readonly #rules: PayoutRules;
  readonly #booked: BookedRefunds;
  readonly #nowMs: () => number;
  #place: JournalPlace | null = null;
  #before: JournalPlace | null = null;

  /** `account`: what the account of the merchant who refunds holds. */
  constructor(
    { network, chainId, token, urls }: ModelChain,
    rules: Omit<PayoutRules, 'networks' | 'approvers'>,
    account: string | null = null,
    nowMs: () => number = () => SEARCH_MS,
  ) {
    this.#nowMs = nowMs;
    this.#booked = new BookedRefunds(account);
    this.#rules = {
      networks: [{ mode: 'test', network, chainId, tokens: [{ coin: 'USDT', address: token, decimals: 6 }], urls }],
      ...{ ...rules, approvers: PEOPLE.map(approverKey) },
    };
    this.#signer = this.#open();
  }

  restart(): void {
    this.#signer = this.#open();
  }

  get ledger(): Outgoing['ledger'] {
    return this.#signer.ledger;
  }

  /** What a worker says of the journal: where it stands, or for a lie where it stood before. */
  placeOf(isLie: boolean): JournalPlace | null {
    return isLie ? this.#before : this.#place;
  }

  /** True when the signature is a new line of the journal, which now stands there. */
  advance({ journal }: Extract<Signature, { ok: true }>): boolean {
    if (journal.seq <= (this.#place?.seq ?? 0)) return false;
    [this.#before, this.#place] = [this.#place, journal];
    return true;
  }

  /** The signer is told of the refund's request, as an honest worker and a lying one must, to get anything. */
  async book(order: OutgoingTransaction): Promise<void> {
    await this.#booked.give(order, (from, events) => this.ledger.take(from, events));
  }

  /** The event log says that the payout failed, which may be a lie. */
  async deny(order: OutgoingTransaction): Promise<void> {
    this.#booked.fail(order);
    await this.book(order);
  }

  /** Null when it takes no such request. */
  async ask<Answer>(name: string, params: object): Promise<Answer | null> {
    const context = { wallets: new Map([['test' as const, MODEL_WALLET]]), outgoing: this.#signer, audit: null };
    try {
      return (await callMethod(name, JSON.parse(JSON.stringify(params)), context)) as Answer;
    } catch (error) {
      if (error instanceof MethodRefused) return null;
      throw error;
    }
  }

  #open(): Outgoing {
    return new Outgoing(this.#rules, new Map([['test', MODEL_WALLET]]), this.#nowMs);
  }
}

export function unitsOf({ amount }: OutgoingTransaction): bigint {
  const [whole, fraction = ''] = amount.split('.');
  return BigInt(whole!) * COIN + BigInt(fraction.padEnd(6, '0'));
}

/** The same at another price, as an honest replacement is; null where there is none. */
export function repriced(last: TransactionDraft | undefined, pick: number): TransactionDraft | null {
  if (last?.kind === 'evm') return { ...last, maxFeePerGas: String(2_000 + pick) };
  return last?.kind === 'solana' ? { ...last, computeUnitPrice: String(2_000 + pick) } : null;
}

interface Held {
  readonly signedBytes: string;
}

/** One of what the worker holds goes out. */
export function submitOne(chain: ModelChain, held: readonly Held[], pick: number): void {
  const one = held[pick % Math.max(1, held.length)];
  if (one) chain.submit(one.signedBytes);
}

/**
 * Whatever it still holds, in both orders: a nonce that is missing may come, and the newest need not be the one that
 * lands.
 */
export function submitAll(chain: ModelChain, held: readonly Held[]): void {
  for (const { signedBytes } of [...held, ...held.toReversed()]) chain.submit(signedBytes);
}

/** A chain and a folder for the journal, for one run. */
export async function onModel(
  model: () => Promise<ModelChain>,
  run: (chain: ModelChain, journalDirectory: string) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'signer-search-'));
  const chain = await model();
  try {
    await run(chain, directory);
  } finally {
    await chain.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
