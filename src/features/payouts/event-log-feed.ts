import type { EventStore, Position, RecordedEvent } from '../../ports/event-log/event-store.ts';
import { isOwed } from '../../domain/events/treasury-move-events.ts';
import type { OutgoingSigner } from '../../ports/outgoing/signer.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { ApprovalSigner } from '../../ports/signer/approvals.ts';
import type { HashedParts } from '../../domain/events/canonical-text.ts';
import { MAX_JSON_LINE_BYTES } from '../../runtime/util/json-lines.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import { must } from '../../domain/values/must.ts';

const PAGE = 500;
/** Leaves room for the request around the events, and for escaping their texts once more. */
const MAX_PAGE_CHARACTERS = MAX_JSON_LINE_BYTES / 4;

/**
 * A signer that receives every existing event before it checks payments from accounts of others: it books them itself
 * and trusts nobody's word for what a merchant or an unknown sender is owed, and so what a refund may take. It reads the
 * whole event log once, then what is new.
 */
export function withEventLog<Signer extends OutgoingSigner & ApprovalSigner>(
  signer: Signer,
  store: Pick<EventStore, 'readAll'>,
): Signer {
  const feed = new EventLogFeed(signer, store);
  const before = async ({ kind }: Pick<OutgoingTransaction, 'kind'>): Promise<void> => {
    if (kind === 'refund' || isOwed(kind)) await feed.run();
  };
  return {
    ...signer,
    check: async (order) => {
      await before(order);
      return signer.check(order);
    },
    sign: async (request) => {
      await before(request.order);
      return signer.sign(request);
    },
    // The terms of a refund say whether the account covers it.
    approvalTerms: async (act) => {
      if (act.kind === 'transaction') await before(act.order);
      return signer.approvalTerms(act);
    },
    approve: async (act, approval) => {
      if (act.kind === 'transaction') await before(act.order);
      return signer.approve(act, approval);
    },
  };
}

class EventLogFeed {
  readonly #signer: Pick<OutgoingSigner, 'takeEvents'>;
  readonly #store: Pick<EventStore, 'readAll'>;
  readonly #turns = new InTurn();
  #given: { readonly size: number; readonly after: Position | null } = { size: 0, after: null };

  constructor(signer: Pick<OutgoingSigner, 'takeEvents'>, store: Pick<EventStore, 'readAll'>) {
    this.#signer = signer;
    this.#store = store;
  }

  /**
   * Calls are sequential, because concurrent ones would send the same events. Rejects when the store or the signer is
   * unavailable.
   */
  run(): Promise<void> {
    return this.#turns.run(() => this.#run());
  }

  async #run(): Promise<void> {
    for (;;) {
      const events = await this.#store.readAll({ after: this.#given.after, limit: PAGE });
      if (events.length === 0) return;
      for (const page of pagesOf(events)) {
        const size = this.#given.size + page.length;
        const taken = await this.#signer.takeEvents(this.#given.size, page.map(hashedParts));
        // The signer reports the fault itself when it is asked for a payment.
        if (taken.fault !== null) return;
        // The signer was restarted and has read nothing yet.
        if (taken.size < this.#given.size) {
          this.#given = { size: 0, after: null };
          return this.#run();
        }
        if (taken.size !== size) throw new Error(`the signer has read ${taken.size} events, not ${size}`);
        this.#given = { size, after: must(page.at(-1)).position };
      }
    }
  }
}

/** Small enough for one message each. */
function* pagesOf(events: readonly RecordedEvent[]): Generator<RecordedEvent[]> {
  let page: RecordedEvent[] = [];
  let characters = 0;
  for (const event of events) {
    const own = event.data.length + event.metadata.length + event.stream.length;
    if (page.length > 0 && characters + own > MAX_PAGE_CHARACTERS) {
      yield page;
      [page, characters] = [[], 0];
    }
    page.push(event);
    characters += own;
  }
  yield page;
}

const hashedParts = ({ stream, revision, id, type, version, atMs, data, metadata }: RecordedEvent): HashedParts => ({
  ...{ stream, revision, id, type, version, atMs, data, metadata },
});
