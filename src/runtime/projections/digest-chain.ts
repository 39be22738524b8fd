import { hash } from 'node:crypto';
import type { Position, RecordedEvent } from '../../ports/event-store.ts';
import type { Row } from '../../ports/read-model.ts';

/**
 * What a projection made of the log up to an event: equal wherever the same was made of it, whatever batches it came
 * in.
 */
export type DigestMark = {
  readonly position: Position;
  /** SHA-256 (hex) over what each event so far changed. */
  readonly digest: string;
};

type ChainRow = { readonly digest: string; readonly marks: readonly DigestMark[] };

/** The row of a projection's chain in its table. */
export const CHAIN_KEY = 'chain';

/** One event in so many is marked, by its hash: everybody marks the same. */
const MARKED_IN = 64;
export const isMarked = ({ hash: ofEvent }: Pick<RecordedEvent, 'hash'>): boolean =>
  parseInt(ofEvent.slice(-2), 16) % MARKED_IN === 0;

/** As far as one may be behind another and still be compared with it. */
const MARKS = 16;

/** The digest of a projection, carried on from event to event and kept with its rows. */
export class DigestChain {
  #digest: string;
  #marks: DigestMark[];

  constructor(row: Row | null) {
    const { digest = '', marks = [] } = (row ?? {}) as Partial<ChainRow>;
    this.#digest = digest;
    this.#marks = [...marks];
  }

  /** `changed`: the changes of the event, or that there are none to be had. */
  take(event: RecordedEvent, changed: readonly object[] | 'parked'): void {
    const { id, position } = event;
    this.#digest = hash('sha256', `${this.#digest}${id}${JSON.stringify(changed)}`, 'hex');
    if (isMarked(event)) this.#marks = [...this.#marks.slice(1 - MARKS), { position, digest: this.#digest }];
  }

  get row(): Row {
    return { digest: this.#digest, marks: this.#marks };
  }
}

export const marksOf = (row: Row | null): readonly DigestMark[] => (row as ChainRow | null)?.marks ?? [];
