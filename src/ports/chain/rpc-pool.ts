import { must } from '../../domain/values/must.ts';

/** The newest block, the newest final one, and the end of what was read for payments. */
export type ReportedBlock = 'head' | 'final' | 'read';

/**
 * One provider of a network's API. Its name never contains a path, a query or a credential, because URLs contain keys.
 */
export interface RpcProvider {
  readonly name: string;
  /** How often it was unreachable so far; default 0. */
  readonly outages?: number;
  /** JSON-RPC 2.0. Throws `RpcError` for an error response, `ProviderFault` for no valid response. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  /** Plain HTTP below the provider's base URL (TRON). `label` names the request in metrics; default: the path. */
  post(path: string, body: unknown, label?: string): Promise<unknown>;
  get(path: string, label?: string): Promise<unknown>;
  /** Call it with every block that this provider reports; the pool measures lag by the heads. */
  report(what: ReportedBlock, blockNumber: number): void;
}

export interface RunOptions {
  /** Providers to use only if no other is left, the first of them first: for a second opinion. */
  readonly preferOtherThan?: readonly string[];
}

/** One provider's part in a survey: its answer, or why there is none. */
export type Opinion<Value> =
  | { readonly provider: string; readonly value: Value }
  | { readonly provider: string; readonly fault: Error };

/** A refusal in words that the table of dialects does not know, or because the plan's calls are used up. */
export interface NotedRefusal {
  readonly kind: 'unknown' | 'quota-used';
  /** Without secrets. */
  readonly text: string;
}

export const refusalText = ({ kind, text, ageSec }: NotedRefusal & { readonly ageSec: number }): string =>
  `${kind === 'unknown' ? 'unknown answer' : 'its plan is used up'}, ${ageSec} s ago: ${text}`;

export interface ProviderStatus {
  readonly provider: string;
  readonly healthy: boolean;
  /** Blocks behind the best known head; null until it has reported one. */
  readonly lagBlocks: number | null;
  readonly consecutiveFaults: number;
  /** Why it is not used: it has proven to serve another chain. Null while it may be used. */
  readonly excluded: string | null;
  /** Its latest refusal that an operator should know of; null if there was none for an hour. */
  readonly refusal: (NotedRefusal & { readonly ageSec: number }) | null;
  /** Its latest report, with its age; null if it was never asked. */
  readonly reported: Readonly<Record<ReportedBlock, { readonly block: number; readonly ageSec: number } | null>>;
}

/** Several providers of one network with a changeable list: fail-over, fail-back, limits. */
export interface RpcPool {
  readonly size: number;
  /** Number of independent ones: two URLs of one host are one source. */
  readonly sources: number;
  /**
   * Runs the whole task on one provider, then on the next if it throws `ProviderFault` or `RpcError`, so everything
   * that a task reads comes from one source. Throws `ChainUnavailable` when no provider could do it; other errors pass
   * through.
   */
  run<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    options?: RunOptions,
  ): Promise<{ readonly value: Value; readonly provider: string }>;
  /**
   * Asks one provider after another, best first, until `enough` accepts the answers so far. Never throws for a
   * provider's fault, which becomes an opinion.
   */
  survey<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    enough?: (soFar: readonly Opinion<Value>[]) => boolean,
  ): Promise<readonly Opinion<Value>[]>;
  status(): readonly ProviderStatus[];
  close(): Promise<void>;
}

/** Providers of one host are one source and can be wrong together. */
export const sourceOf = (provider: string): string => must(provider.split('#')[0]);

/** The first answer of each source. */
export function answersOf<Value>(opinions: readonly Opinion<Value>[]): Value[] {
  const answers = new Map<string, Value>();
  for (const opinion of opinions) {
    const source = sourceOf(opinion.provider);
    if ('value' in opinion && !answers.has(source)) answers.set(source, opinion.value);
  }
  return [...answers.values()];
}

/** Throws if a provider's head is below a block that the network is known to have. */
export async function mustReach(atLeast: number, headOf: () => Promise<number>): Promise<void> {
  if (atLeast > 0 && (await headOf()) < atLeast) throw new ProviderFault('behind', `does not have block ${atLeast}`);
}

/** Events that an operator may want to count. */
export interface RpcObserver {
  onRequest?(request: {
    readonly network: string;
    readonly provider: string;
    readonly method: string;
    readonly ok: boolean;
    readonly durationMs: number;
  }): void;
  /** A provider turned out to serve another chain; with null, it serves the right one again. */
  onExcluded?(excluded: { readonly network: string; readonly provider: string; readonly reason: string | null }): void;
  onRefusal?(refusal: NotedRefusal & { readonly network: string; readonly provider: string }): void;
  /** A provider was removed from the list; its exclusion and lag are no longer reported. */
  onGone?(gone: { readonly network: string; readonly provider: string }): void;
  /** A provider's clock (Unix milliseconds) and the round-trip time of its response. */
  onServerTime?(provider: string, timeMs: number, roundTripMs: number): void;
  onLag?(lag: { readonly network: string; readonly provider: string; readonly lagBlocks: number }): void;
}

/** What a provider means by a refusal. */
export type Meaning =
  /** The range or the answer is too large, or takes too long: ask for less. */
  | 'too-wide'
  | 'slow-down'
  /** The plan's calls of the day or month are used up. */
  | 'quota-used'
  /** It does not serve this call, or not to us. */
  | 'cannot'
  /** It lacks a block that the network may have. */
  | 'behind'
  /** The chain has no such block: its slot was skipped. */
  | 'no-block'
  /** It has not computed this yet: it starts, synchronises or builds an index. */
  | 'not-ready'
  /** It does not keep what is this old. */
  | 'not-kept'
  /** It refuses what it was given for what it is. */
  | 'wrong'
  /** The contract refuses the call. */
  | 'reverted'
  /** The sender lacks money. */
  | 'no-funds'
  /** The transaction is pending or was mined, or its nonce was used. */
  | 'known'
  | 'underpriced'
  /** In no row of the table of dialects. */
  | 'unknown';

/** The provider returned a JSON-RPC `error` object. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;
  readonly means: Meaning;

  constructor(code: number, message: string, data?: unknown, means: Meaning = 'unknown') {
    super(message);
    this.code = code;
    this.data = data;
    this.means = means;
  }
}

/** Why a provider's response is unusable. The first four and `wrong-chain` pause it. */
export type FaultKind =
  /** No response, a response that is not JSON, or a server error. */
  | 'unreachable'
  | 'rate-limited'
  /** The plan's calls of the day or month are used up. */
  | 'quota-used'
  /** It said something that the table of dialects does not know. */
  | 'unknown'
  /** The response exceeds the pool's size limit. */
  | 'too-large'
  /** It lacks a block that the network has. */
  | 'behind'
  /** It does not support the method. */
  | 'incapable'
  /** Its responses contradict each other or the chain. */
  | 'inconsistent'
  /** It serves another chain. */
  | 'wrong-chain';

export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly kind: FaultKind;
  /** The pause it asked for. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: FaultKind, message: string, retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
