import { setImmediate as breathe } from 'node:timers/promises';
import { sessionList } from '../../../../projections/sessions/session-list.ts';
import { SESSIONS_TABLE, type SessionRow } from '../../../../projections/sessions/session-row.ts';
import type { ReadModel } from '../../../ports/read-model/read-model.ts';
import { entriesOf, type Entry, type Source } from '../../shared/list-source.ts';
import type { MetadataIndex, MetadataMatch, MetadataOwner } from './metadata-index.ts';

/** Sessions with the first key and value that are examined per answer. */
export const MAX_EXAMINED = 10_000;
const AT_ONCE = 500;

/** More sessions have the metadata than are examined per answer. */
export class TooManyMatches extends Error {
  override readonly name = 'TooManyMatches';
}

export interface MetadataSearch {
  readonly owner: MetadataOwner;
  readonly metadata: Readonly<Record<string, string>>;
  /** Unix seconds, inclusive. */
  readonly createdFrom?: number | undefined;
  readonly createdTo?: number | undefined;
  /** Null if every match qualifies. */
  readonly meets: ((row: SessionRow) => boolean) | null;
}

interface SearchDeps {
  readonly readModel: Pick<ReadModel, 'before' | 'getMany'>;
  readonly index: Pick<MetadataIndex, 'before'>;
}

/** The sessions with the metadata, newest first. Its methods reject with `TooManyMatches`. */
export function metadataSource({ readModel, index }: SearchDeps, search: MetadataSearch): Source<SessionRow> {
  const { owner, metadata, createdFrom = -Infinity, meets } = search;

  const loaded = (matches: readonly MetadataMatch[]): Promise<Entry<SessionRow>[]> =>
    entriesOf(
      readModel,
      SESSIONS_TABLE,
      matches.map(({ sessionId, order }) => ({ member: sessionId, order })),
    );

  async function thatMeet(matches: readonly MetadataMatch[]): Promise<readonly MetadataMatch[]> {
    if (!meets) return matches;
    const meeting = new Set((await loaded(matches)).filter(({ row }) => meets(row)).map(({ order }) => order));
    return matches.filter(({ order }) => meeting.has(order));
  }

  /** The order below which to search; null if nothing is old enough. */
  async function startOf(before: number | null): Promise<{ below: number | null } | null> {
    if (search.createdTo === undefined) return { below: before };
    const list = sessionList(owner.mode, owner.merchantId, {});
    const [newest] = await readModel.before(list, { before, limit: 1, toSec: search.createdTo });
    return newest ? { below: newest.order + 1 } : null;
  }

  /** The newest matches below an order, as many as wanted. */
  async function collect(before: number | null, wanted: number): Promise<MetadataMatch[]> {
    const collected: MetadataMatch[] = [];
    const start = await startOf(before);
    let next = start === null ? undefined : start.below;
    for (let examined = 0; next !== undefined && collected.length < wanted; examined += AT_ONCE) {
      if (examined >= MAX_EXAMINED) throw new TooManyMatches();
      // Look-ups are read synchronously; this gives other requests a turn.
      if (examined > 0) await breathe();
      const { matches, last } = await index.before(owner, metadata, { before: next, limit: AT_ONCE });
      const within = matches.filter(({ atSec }) => atSec >= createdFrom);
      collected.push(...(await thatMeet(within)));
      // Compares the time of the last session examined, not of the last match: matches may be rare or absent.
      next = last === null || last.atSec < createdFrom ? undefined : last.order;
    }
    return collected.slice(0, wanted);
  }

  return {
    page: async (offset, limit) => {
      const all = await collect(null, Infinity);
      return { entries: await loaded(all.slice(offset, offset + limit)), total: all.length };
    },
    before: async (before, limit) => loaded(await collect(before, limit)),
  };
}
