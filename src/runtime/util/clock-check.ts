import type { Clock } from '../../ports/clock.ts';

/** One witness's observation of our clock. */
export interface Witness {
  readonly source: string;
  /** How far our clock is ahead of it. A block only gives a lower bound of how far we are behind. */
  readonly offsetMs: number;
  readonly agrees: boolean;
}

export interface ClockVerdict {
  /** More witnesses contradict our clock than agree with it. */
  readonly isInDoubt: boolean;
  /** The median of the servers' observations; null while there are none. */
  readonly offsetMs: number | null;
  readonly witnesses: readonly Witness[];
}

/** The newest block of a chain. */
export interface BlockTime {
  readonly source: string;
  readonly timeSec: number;
}

interface Heard {
  /** The witness's clock at `atMs` of our monotonic clock. */
  readonly remoteMs: number;
  readonly atMs: number;
  readonly uncertaintyMs: number;
}

/** More than servers and blocks normally differ; far less than a signature (300 s) or a deadline tolerates. */
export const CLOCK_TOLERANCE_MS = 30_000;
/** `Date` headers are truncated to whole seconds. */
const HALF_SECOND_MS = 500;
/** Slower responses are too imprecise. */
const MAX_ROUND_TRIP_MS = 5_000;
/** A witness is ignored after being silent for this long. */
const FORGOTTEN_AFTER_MS = 600_000;

/**
 * Whether our clock can be trusted. The clocks of servers that we talk to anyway, and of blocks that we read, are
 * recorded against a monotonic clock, so that a step of our clock is detected at once, before any new observation.
 */
export class ClockCheck {
  readonly #clock: Clock;
  readonly #monotonicMs: () => number;
  readonly #servers = new Map<string, Heard>();
  readonly #blocks = new Map<string, Heard>();
  #newest: () => readonly BlockTime[] = () => [];

  constructor(clock: Clock, monotonicMs: () => number = () => performance.now()) {
    this.#clock = clock;
    this.#monotonicMs = monotonicMs;
  }

  /** Records a server's clock from a response that took `roundTripMs`. */
  readonly heard = (source: string, remoteMs: number, roundTripMs: number): void => {
    if (!Number.isFinite(remoteMs) || roundTripMs > MAX_ROUND_TRIP_MS) return;
    const uncertaintyMs = HALF_SECOND_MS + roundTripMs / 2;
    this.#servers.set(source, { remoteMs: remoteMs + uncertaintyMs, atMs: this.#monotonicMs(), uncertaintyMs });
  };

  /** Registers chains to examine with every verdict. */
  watchBlocks(newest: () => readonly BlockTime[]): void {
    this.#newest = newest;
  }

  get isInDoubt(): boolean {
    return this.verdict().isInDoubt;
  }

  verdict(): ClockVerdict {
    this.#look();
    const servers = this.#witnesses(
      this.#servers,
      ({ offsetMs, uncertaintyMs }) => Math.abs(offsetMs) <= CLOCK_TOLERANCE_MS + uncertaintyMs,
    );
    // An old block proves nothing about a fast clock, because the chain may have stalled.
    const blocks = this.#witnesses(this.#blocks, ({ offsetMs }) => offsetMs >= -CLOCK_TOLERANCE_MS).filter(
      ({ offsetMs }) => offsetMs <= CLOCK_TOLERANCE_MS,
    );
    const counted = servers.filter(({ source, agrees }) => !agrees || !isOnThisMachine(source));
    const witnesses = [...counted, ...blocks];
    const contradicting = witnesses.filter(({ agrees }) => !agrees).length;
    return {
      isInDoubt: contradicting * 2 > witnesses.length,
      offsetMs: middleOf(counted.map(({ offsetMs }) => offsetMs)),
      witnesses,
    };
  }

  #look(): void {
    for (const { source, timeSec } of this.#newest()) {
      if (this.#blocks.get(source)?.remoteMs === timeSec * 1000) continue;
      this.#blocks.set(source, { remoteMs: timeSec * 1000, atMs: this.#monotonicMs(), uncertaintyMs: 0 });
    }
  }

  #witnesses(
    heard: ReadonlyMap<string, Heard>,
    agrees: (said: { readonly offsetMs: number; readonly uncertaintyMs: number }) => boolean,
  ): Witness[] {
    const [nowMs, monotonicMs] = [this.#clock.nowMs(), this.#monotonicMs()];
    return [...heard].flatMap(([source, { remoteMs, atMs, uncertaintyMs }]) => {
      const elapsedMs = monotonicMs - atMs;
      const offsetMs = nowMs - (remoteMs + elapsedMs);
      return elapsedMs > FORGOTTEN_AFTER_MS ? [] : [{ source, offsetMs, agrees: agrees({ offsetMs, uncertaintyMs }) }];
    });
  }
}

/** It shares our clock, so its agreement proves nothing. */
const isOnThisMachine = (source: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(source);

function middleOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
