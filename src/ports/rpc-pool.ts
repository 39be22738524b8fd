import { must } from '../domain/must.ts';

/** The newest block, the newest that is final, and the end of what was read for payments. */
export type ReportedBlock = 'head' | 'final' | 'read';

/** One provider of a network's API. Its name never holds a path, a query or a credential: keys live in URLs. */
export interface RpcProvider {
  readonly name: string;
  /**
   * JSON-RPC 2.0. Throws `RpcError` when the provider answered with an error, `ProviderFault` when it did not answer
   * well.
   */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  /** Plain HTTP below the provider's base URL (TRON). `label` names the request in metrics; default: the path. */
  post(path: string, body: unknown, label?: string): Promise<unknown>;
  get(path: string, label?: string): Promise<unknown>;
  /** Call it with every block that this provider reports; what the pool measures lag with are the heads. */
  report(what: ReportedBlock, blockNumber: number): void;
}

export interface RunOptions {
  /** Providers to use only when no other is left: for a second opinion. */
  readonly preferOtherThan?: readonly string[];
}

/** One provider's part in a survey: its answer, or why there is none. */
export type Opinion<Value> =
  | { readonly provider: string; readonly value: Value }
  | { readonly provider: string; readonly fault: Error };

export interface ProviderStatus {
  readonly provider: string;
  readonly healthy: boolean;
  /** Blocks behind the best head known; null while it has reported none. */
  readonly lagBlocks: number | null;
  readonly consecutiveFaults: number;
  /** Why it is not asked: it serves another chain, as it proved itself. Null while it may be asked. */
  readonly excluded: string | null;
  /** What it reported last, and how long ago; null where it was never asked. */
  readonly reported: Readonly<Record<ReportedBlock, { readonly block: number; readonly ageSec: number } | null>>;
}

/** Several providers of one network, whose list may change: fail-over, fail-back, limits. */
export interface RpcPool {
  readonly size: number;
  /** Independent ones: two URLs of one host are one source. */
  readonly sources: number;
  /**
   * Runs the whole task on one provider, then on the next when it throws `ProviderFault` or `RpcError`. Everything a
   * task reads therefore comes from one source. Throws `ChainUnavailable` when no provider could do it; anything else
   * passes through.
   */
  run<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    options?: RunOptions,
  ): Promise<{ readonly value: Value; readonly provider: string }>;
  /**
   * Asks one provider after another, best first, until `enough` says so of the answers so far. Never throws for a
   * provider's fault: the opinions tell.
   */
  survey<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    enough?: (soFar: readonly Opinion<Value>[]) => boolean,
  ): Promise<readonly Opinion<Value>[]>;
  status(): readonly ProviderStatus[];
  close(): Promise<void>;
}

/** Providers of one host are one source: who lies at one of its addresses lies at all. */
export const sourceOf = (provider: string): string => must(provider.split('#')[0]);

/** Throws where a provider's head is below a block that the network is known to have. */
export async function mustReach(atLeast: number, headOf: () => Promise<number>): Promise<void> {
  if (atLeast > 0 && (await headOf()) < atLeast) throw new ProviderFault('behind', `does not have block ${atLeast}`);
}

/** What an operator may want to count. */
export interface RpcObserver {
  onRequest?(request: {
    readonly network: string;
    readonly provider: string;
    readonly method: string;
    readonly ok: boolean;
    readonly durationMs: number;
  }): void;
  /** When a provider turned out to serve another chain, and, with null, when it serves the right one again. */
  onExcluded?(excluded: { readonly network: string; readonly provider: string; readonly reason: string | null }): void;
  /** When a provider is no longer on the list: its exclusion and lag are told no more. */
  onGone?(gone: { readonly network: string; readonly provider: string }): void;
  /** What a provider's own clock said (Unix milliseconds), in an answer that took so long. */
  onServerTime?(provider: string, timeMs: number, roundTripMs: number): void;
  onLag?(lag: { readonly network: string; readonly provider: string; readonly lagBlocks: number }): void;
}

/** The provider answered, with an error (JSON-RPC `error` object). */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Why a provider's answer is of no use. Only `unreachable` and `rate-limited` keep it from being asked for a while. */
export type FaultKind =
  /** No answer, an answer that is not JSON, or a server error. */
  | 'unreachable'
  | 'rate-limited'
  /** The answer was longer than the pool reads into memory. */
  | 'too-large'
  /** It does not know a block that the network has. */
  | 'behind'
  /** It does not serve the method. */
  | 'incapable'
  /** Its answers contradict each other or the chain. */
  | 'inconsistent'
  /** It serves another chain. */
  | 'wrong-chain';

export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly kind: FaultKind;
  /** How long it asked to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: FaultKind, message: string, retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
