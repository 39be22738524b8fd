import { must } from '../../domain/values/must.ts';

/** Requests in flight at one provider: grows by one per round of successes, halves when the provider pushes back. */
export interface ConcurrencyLimit {
  enter(): Promise<void>;
  leave(pushedBack: boolean): void;
  readonly limit: number;
}

export function createConcurrencyLimit(options: { readonly initial: number; readonly max: number }): ConcurrencyLimit {
  let limit = options.initial;
  let inFlight = 0;
  const waiting: (() => void)[] = [];

  function admit(): void {
    while (waiting.length > 0 && inFlight < Math.floor(limit)) {
      inFlight += 1;
      must(waiting.shift())();
    }
  }

  return {
    get limit() {
      return Math.floor(limit);
    },
    enter: () =>
      new Promise<void>((resolve) => {
        waiting.push(resolve);
        admit();
      }),
    leave(pushedBack) {
      inFlight -= 1;
      limit = pushedBack ? Math.max(1, limit / 2) : Math.min(options.max, limit + 1 / limit);
      admit();
    },
  };
}
