import type { Position, RecordedEvent } from '../../ports/event-store.ts';
import type { Projection } from '../../ports/projection.ts';
import type { ReadModel } from '../../ports/read-model.ts';
import type { LogReader } from '../event-log/log-copy.ts';
import { ownedRows, projectBatch, projectionId, readEvent } from './batch.ts';
import { listsIn } from './digest.ts';
import { RowCache } from './row-cache.ts';

/*
 * Compares look-ups that nobody can hold still with a replay of the ledger, by nothing but the contract of read models: what differs at
 * first sight is looked at again between two replays, the one to where the look-ups were before the look and the other to where they were after it.
 */

export interface MovingDrift {
  /** `name@version`. */
  readonly projection: string;
  /** Up to here the ledger was replayed; null when nothing was projected yet. */
  readonly through: Position | null;
  readonly rows: number;
  readonly differing: number;
  /** The first differences, in words. */
  readonly examples: readonly string[];
}

export interface MovingComparisonDeps {
  readonly store: LogReader;
  /** As it is served, while it moves. */
  readonly live: ReadModel;
  /** Empty, and of this comparison alone. */
  readonly shadow: ReadModel;
  /** Whether one position of the ledger comes after another. */
  readonly isAfter: (one: Position, other: Position) => boolean;
}

/** The rows were replaced while they were compared, by a rebuild or after a loss. */
export class RowsReplaced extends Error {
  override readonly name = 'RowsReplaced';
}

/** A row, or the member that a list has at an order. */
type Place = { readonly table: string; readonly key: string } | { readonly list: string; readonly order: number };

const PAGE = 1_000;
const CACHED_ROWS = 20_000;
const EXAMPLES = 5;
/** What still moves after so many looks is sound: it was never twice the same. */
const LOOKS = 5;
/** Beyond this the drift is counted no further. */
const MOST_PLACES = 100_000;

export class MovingComparison {
  readonly #deps: MovingComparisonDeps;

  constructor(deps: MovingComparisonDeps) {
    this.#deps = deps;
  }

  /** Rejects with `RowsReplaced`. */
  async compare(projections: readonly Projection[]): Promise<MovingDrift[]> {
    const replays = projections.map((projection) => new Replay(projection, this.#deps));
    const drifts: MovingDrift[] = [];
    for (const replay of replays) drifts.push(await this.#compare(replay));
    return drifts;
  }

  async #compare(replay: Replay): Promise<MovingDrift> {
    const { live } = this.#deps;
    const { id } = replay;
    const generation = await live.generation(id);
    await replay.to(await live.checkpoint(id));
    const { rows, places } = await this.#suspects(replay);
    const differing = await this.#confirmed(replay, places);
    if ((await live.generation(id)) !== generation) throw new RowsReplaced(`the rows of ${id} were replaced meanwhile: compare again`);
    const examples = differing.slice(0, EXAMPLES).map(({ place, what }) => `${wordsOf(place)} ${what}`);
    return { projection: id, through: replay.through, rows, differing: differing.length, examples };
  }

  /** Every place that differs at first sight. */
  async #suspects({ owned, lists }: Replay): Promise<{ rows: number; places: Place[] }> {
    const { live, shadow } = this.#deps;
    const places: Place[] = [];
    let rows = 0;
    for (const table of owned.tables) {
      const [mine, theirs] = [entriesOf(live, table), entriesOf(shadow, table)];
      for await (const { key, same } of merged(mine, theirs, byBytes)) {
        rows += 1;
        if (!same && places.length < MOST_PLACES) places.push({ table, key });
      }
    }
    for (const list of lists) {
      const [mine, theirs] = [membersOf(live, list), membersOf(shadow, list)];
      for await (const { key, same } of merged(mine, theirs, (one, other) => Number(other) - Number(one))) {
        rows += 1;
        if (!same && places.length < MOST_PLACES) places.push({ list, order: Number(key) });
      }
    }
    return { rows, places };
  }

  async #confirmed(replay: Replay, suspects: readonly Place[]): Promise<{ place: Place; what: string }[]> {
    const { live, shadow } = this.#deps;
    const differing: { place: Place; what: string }[] = [];
    let open = suspects;
    for (let look = 0; look < LOOKS && open.length > 0; look += 1) {
      await replay.to(await live.checkpoint(replay.id));
      const before = await textsAt(shadow, open);
      const found = await textsAt(live, open);
      await replay.to(await live.checkpoint(replay.id));
      const after = await textsAt(shadow, open);
      const moving: Place[] = [];
      for (const [index, place] of open.entries()) {
        const text = found[index]!;
        if (text === before[index] || text === after[index]) continue;
        if (before[index] !== after[index]) moving.push(place);
        else differing.push({ place, what: text === '' ? 'is missing' : after[index] === '' ? 'is not in the ledger' : 'differs' });
      }
      open = moving;
    }
    return differing;
  }
}

/** One projection over the ledger, as far as it was asked to go. */
class Replay {
  readonly id: string;
  readonly owned: ReturnType<typeof ownedRows>;
  /** Every list that was ever written to: read models do not say their names. */
  readonly lists = new Set<string>();
  through: Position | null = null;
  readonly #projection: Projection;
  readonly #deps: MovingComparisonDeps;
  readonly #cache = new RowCache(CACHED_ROWS);

  constructor(projection: Projection, deps: MovingComparisonDeps) {
    this.#projection = projection;
    this.#deps = deps;
    this.id = projectionId(projection);
    // What could not be taken is an alarm of its own, with the time it was parked.
    this.owned = { ...ownedRows(projection), tables: projection.tables };
  }

  /** Takes every event up to `end`; goes never back. */
  async to(end: Position | null): Promise<void> {
    const { store, isAfter } = this.#deps;
    while (end !== null && (this.through === null || isAfter(end, this.through))) {
      const page = await store.readAll({ after: this.through, limit: PAGE, streamPrefixes: this.#projection.streamPrefixes });
      const own = page.filter(({ position }) => !isAfter(position, end));
      await this.#take(own);
      this.through = own.length < PAGE ? end : own.at(-1)!.position;
    }
  }

  async #take(events: readonly RecordedEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { shadow } = this.#deps;
    const { changes, rows } = await projectBatch(this.#projection, events.map(readEvent), { readModel: shadow, cache: this.#cache, nowMs: 0 });
    await shadow.apply(this.id, changes, events.at(-1)!.position);
    rows.commit();
    for (const list of listsIn(changes)) this.lists.add(list);
  }
}

interface Entry {
  readonly key: string;
  readonly text: string;
}

async function* entriesOf(model: ReadModel, table: string): AsyncGenerator<Entry, void> {
  for (let afterKey: string | undefined; ;) {
    const page = await model.scan(table, { ...(afterKey !== undefined && { afterKey }), limit: PAGE });
    for (const { key, row } of page) yield { key, text: textOf(row) };
    // A row that was deleted while its page was read is not in it, so only an empty page is the end.
    if (page.length === 0) return;
    afterKey = page.at(-1)!.key;
  }
}

async function* membersOf(model: ReadModel, list: string): AsyncGenerator<Entry, void> {
  for (let before: number | null = null; ;) {
    const page = await model.before(list, { before, limit: PAGE });
    for (const { member, order } of page) yield { key: String(order), text: member };
    if (page.length < PAGE) return;
    before = page.at(-1)!.order;
  }
}

/** Every key of two runs in the same order, and whether both have the same under it. */
async function* merged(
  one: AsyncGenerator<Entry, void>,
  other: AsyncGenerator<Entry, void>,
  order: (one: string, other: string) => number,
): AsyncGenerator<{ key: string; same: boolean }, void> {
  let [mine, theirs] = [await next(one), await next(other)];
  while (mine || theirs) {
    const turn = !mine ? 1 : !theirs ? -1 : order(mine.key, theirs.key);
    yield { key: (turn <= 0 ? mine : theirs)!.key, same: turn === 0 && mine!.text === theirs!.text };
    if (turn <= 0) mine = await next(one);
    if (turn >= 0) theirs = await next(other);
  }
}

async function next(entries: AsyncGenerator<Entry, void>): Promise<Entry | null> {
  const step = await entries.next();
  return step.done === true ? null : step.value;
}

/** What each place holds as text; empty where there is nothing. */
async function textsAt(model: ReadModel, places: readonly Place[]): Promise<string[]> {
  const texts = new Map<Place, string>();
  const byTable = Map.groupBy(
    places.filter((place) => 'table' in place),
    ({ table }) => table,
  );
  for (const [table, own] of byTable)
    for (let from = 0; from < own.length; from += PAGE) {
      const page = own.slice(from, from + PAGE);
      const rows = await model.getMany(
        table,
        page.map(({ key }) => key),
      );
      for (const [index, place] of page.entries()) texts.set(place, rows[index] ? textOf(rows[index]) : '');
    }
  for (const place of places) {
    if (!('list' in place)) continue;
    const [member] = await model.before(place.list, { before: place.order + 1, limit: 1 });
    texts.set(place, member?.order === place.order ? member.member : '');
  }
  return places.map((place) => texts.get(place)!);
}

const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** The order of fields says nothing. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, field: unknown) =>
    field !== null && typeof field === 'object' && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([one], [other]) => (one < other ? -1 : 1)))
      : field,
  );

const wordsOf = (place: Place): string => ('table' in place ? `${place.table} ${place.key}` : `${place.list} member ${place.order}`);
