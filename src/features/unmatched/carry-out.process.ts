import type { Mode } from '../../domain/values/ids.ts';
import type { Log } from '../../ports/log.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { Recurring } from '../../runtime/util/recurring.ts';
import { INBOX_TRANSIT_TABLE } from '../../../projections/unmatched/row.ts';

export interface SettleInboxDeps {
  readonly readModel: Pick<ReadModel, 'scan'>;
  readonly settle: (mode: Mode, depositKey: string) => Promise<unknown>;
  readonly log: Log;
  readonly everyMs: number;
}

/** Far more than operators decide at a time. */
const LIMIT = 500;

/** Continues operators' decisions after a crash and while a payout is in progress. */
export class SettleInbox {
  readonly #deps: SettleInboxDeps;
  readonly #rounds: Recurring;

  constructor(deps: SettleInboxDeps) {
    this.#deps = deps;
    this.#rounds = new Recurring(
      () => this.round(),
      deps.everyMs,
      (error) => deps.log.warn({ err: error }, 'the inbox could not be checked'),
    );
  }

  start(): void {
    this.#rounds.start();
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  /** One stuck transfer must not block the others. */
  async round(): Promise<void> {
    for (const { row } of await this.#deps.readModel.scan(INBOX_TRANSIT_TABLE, { limit: LIMIT })) {
      if (this.#rounds.isClosed) return;
      const { mode, depositKey } = row;
      await this.#deps
        .settle(mode, depositKey)
        .catch((error: unknown) =>
          this.#deps.log.warn(
            { err: error, transfer: depositKey },
            'a decision about a transfer is not carried out yet',
          ),
        );
    }
  }
}
