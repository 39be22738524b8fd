import type { TakeOver } from './take-over.ts';
import type { EventStore, Position } from '../../ports/event-log/event-store.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import type { SharedStatus } from '../../ports/shared-status.ts';
import type { LeaseGrant } from '../../runtime/leases/with-lease.ts';
import type { RunningProjections } from '../../runtime/projections/runner.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';

export interface DeliveryProgressDeps {
  readonly sharedStatus: SharedStatus;
  readonly readModel: Pick<ReadModel, 'checkpoint' | 'apply'>;
  readonly store: Pick<EventStore, 'head'>;
  readonly projections: Pick<RunningProjections, 'caughtUpTo'>;
  /** Whether one position comes after another. */
  readonly isAfter: (one: Position, other: Position) => boolean;
}

/** The checkpoint with what another process published about its deliveries. It is not derived from the log, and its reader validates it. */
export const HEARD = 'deliver-webhooks-heard';

const ABOUT = 'deliver-webhooks';
const EVERY_MS = 2_000;
const CAUGHT_UP_MS = 10_000;

/** Progress of the deliveries, published by the process that has them for possible successors. */
export class DeliveryProgress {
  readonly #deps: DeliveryProgressDeps;
  readonly #timer: NodeJS.Timeout;
  #reported: { readonly grant: LeaseGrant; readonly handled: Position } | null = null;
  readonly #keeping = new InTurn();

  constructor(deps: DeliveryProgressDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#repeat(), EVERY_MS).unref();
  }

  /** For one term of this process. */
  term(grant: LeaseGrant): TakeOver {
    return {
      handled: () => this.#handled(),
      caughtUpTo: (position) => this.#deps.projections.caughtUpTo(position, CAUGHT_UP_MS),
      tell: (handled) => {
        this.#reported = { grant, handled };
        this.#repeat();
      },
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keeping.ended();
  }

  #published(): Position | null {
    const position = this.#deps.sharedStatus.read(ABOUT);
    return typeof position === 'string' ? position : null;
  }

  async #handled(): Promise<Position | null> {
    const { sharedStatus, readModel, store } = this.#deps;
    await sharedStatus.refresh();
    const head = await store.head();
    const known = [this.#published(), await readModel.checkpoint(HEARD)];
    // A position beyond the end belongs to a log that was replaced by an older copy.
    const possible = known
      .filter((position) => position !== null)
      .filter((position) => head !== null && !this.#deps.isAfter(position, head));
    return possible.length === 0
      ? null
      : possible.reduce((one, other) => (this.#deps.isAfter(one, other) ? one : other));
  }

  /** Republishes what the shared status may have lost, or stores what another process published. */
  #repeat(): void {
    const { sharedStatus, readModel } = this.#deps;
    const reported = this.#reported?.grant.isHeld() === true ? this.#reported : null;
    if (reported) sharedStatus.publish(ABOUT, reported.grant.token, reported.handled);
    const handled = reported?.handled ?? this.#published();
    if (handled === null) return;
    // The shared status may be lost at the very moment when the deliveries change hands.
    const keep = async (): Promise<void> => {
      if ((await readModel.checkpoint(HEARD)) !== handled) await readModel.apply(HEARD, [], handled);
    };
    // The next time has the same information.
    this.#keeping.run(keep).catch(() => undefined);
  }
}
