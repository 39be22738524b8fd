import type { EventStore, Position, RecordedEvent } from '../ports/event-store.ts';
import { isOwed } from '../domain/events/treasury-move-events.ts';
import type { LedgerEvent, OutgoingSigner } from '../ports/outgoing-signer.ts';
import { MAX_JSON_LINE_BYTES } from '../runtime/util/json-lines.ts';
import { InTurn } from '../runtime/util/in-turn.ts';
import { must } from '../domain/must.ts';

const PAGE = 500;
/** Room for the request around the events, and for what quoting their texts once more adds. */
const MAX_PAGE_CHARACTERS = MAX_JSON_LINE_BYTES / 4;

/**
 * The signer, given every event that there is before it judges what is paid out of an account of somebody else: it
 * books them itself and takes nobody's word for what a merchant or an unknown sender is owed. The first time it reads
 * the whole event log, then what is new.
 */
export function withLedger<Signer extends OutgoingSigner>(signer: Signer, store: Pick<EventStore, 'readAll'>): Signer {
  const feed = new LedgerFeed(signer, store);
  return {
    ...signer,
    check: async (order) => {
      if (isOwed(order.kind)) await feed.run();
      return signer.check(order);
    },
    sign: async (request) => {
      if (isOwed(request.order.kind)) await feed.run();
      return signer.sign(request);
    },
  };
}

class LedgerFeed {
  readonly #signer: Pick<OutgoingSigner, 'takeLedger'>;
  readonly #store: Pick<EventStore, 'readAll'>;
  readonly #turns = new InTurn();
  #given: { readonly size: number; readonly after: Position | null } = { size: 0, after: null };

  constructor(signer: Pick<OutgoingSigner, 'takeLedger'>, store: Pick<EventStore, 'readAll'>) {
    this.#signer = signer;
    this.#store = store;
  }

  /** One after the other: two at once would give the same events. Rejects when the store or the signer is gone. */
  run(): Promise<void> {
    return this.#turns.run(() => this.#run());
  }

  async #run(): Promise<void> {
    for (;;) {
      const events = await this.#store.readAll({ after: this.#given.after, limit: PAGE });
      if (events.length === 0) return;
      for (const page of pagesOf(events)) {
        const size = this.#given.size + page.length;
        const taken = await this.#signer.takeLedger(this.#given.size, page.map(hashedParts));
        // What is wrong is the signer's to say, when it is asked for a settlement.
        if (taken.fault !== null) return;
        // Another one answers, which was started since and has read nothing.
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

/** Few enough for one message each. */
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

const hashedParts = ({ stream, revision, id, type, version, atMs, data, metadata }: RecordedEvent): LedgerEvent => ({
  ...{ stream, revision, id, type, version, atMs, data, metadata },
});
