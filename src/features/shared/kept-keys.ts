import type { SecretGenerated } from '../../domain/events/operations-events.ts';
import { secretsStream, type SecretPurpose } from '../../domain/streams.ts';
import type { EventStore } from '../../ports/event-store.ts';
import { appendNext, type AppendNextDeps } from '../../runtime/commands/append-next.ts';
import { dataOf } from '../../runtime/commands/codec.ts';
import { pagesOf } from '../../runtime/event-log/log-copy.ts';
import {
  isSealedUnder,
  keyIdsWithin,
  openWith,
  SEALED_KINDS,
  sealingKeyOf,
  sealWith,
  type KeyList,
  type SealedKind,
  type SealingKey,
  type SealingKeys,
} from '../../runtime/util/sealing.ts';

const purposeOf = (kind: SealedKind): SecretPurpose => `retired-keys-${kind}`;
const context = (kind: SealedKind, version: number): string => `shared|${purposeOf(kind)}|${version}`;
/** Of nodes that write at the same moment, one is first. */
const ATTEMPTS = 20;

/**
 * The keys of the settings, and behind them those that were retired: the ledger keeps each of them sealed under one of
 * its kind that followed it. What was sealed under a retired key stays as it is in a log that nobody rewrites, and
 * opens all the same.
 */
export async function withKeptKeys(store: Pick<EventStore, 'readStream'>, given: SealingKeys): Promise<SealingKeys> {
  const lists = await Promise.all(
    SEALED_KINDS.map(async (kind) => [kind, given[kind] && (await withKept(store, kind, given[kind]))] as const),
  );
  return Object.fromEntries(lists) as SealingKeys;
}

async function withKept(
  store: Pick<EventStore, 'readStream'>,
  kind: SealedKind,
  { setting, keys: given }: KeyList,
): Promise<KeyList> {
  const keys: [SealingKey, ...SealingKey[]] = [...given];
  let waiting = (await store.readStream(secretsStream(purposeOf(kind)))).map((recorded) =>
    dataOf(recorded, 'SecretGenerated'),
  );
  // One that was retired later opens one that was retired before, in whatever order they come.
  for (let before = Infinity; waiting.length < before;) {
    before = waiting.length;
    waiting = waiting.filter(({ sealedSecret, secretVersion }) => {
      if (!keys.some((key) => isSealedUnder(key, sealedSecret))) return true;
      const kept = sealingKeyOf(openWith({ setting, keys }, sealedSecret, context(kind, secretVersion)));
      if (!keys.some(({ id }) => id === kept.id)) keys.push(kept);
      return false;
    });
  }
  return { setting, keys };
}

/** What the first key of a list opens by itself: with it alone in the settings. */
export const openedByFirst = (
  store: Pick<EventStore, 'readStream'>,
  kind: SealedKind,
  { setting, keys }: KeyList,
): Promise<KeyList> => withKept(store, kind, { setting, keys: [keys[0]] });

/**
 * Keeps every key but the first in the ledger, sealed under the first, unless the first opens it already. Answers the
 * ids of those it kept now.
 */
export async function keepOlderKeys(
  deps: AppendNextDeps & { readonly store: Pick<EventStore, 'append' | 'lastOfStream' | 'readStream'> },
  kind: SealedKind,
  list: KeyList,
  actor: string,
): Promise<string[]> {
  const kept: string[] = [];
  const stream = secretsStream(purposeOf(kind));
  for (const key of list.keys.slice(1)) {
    for (
      let attempt = 1;
      !(await openedByFirst(deps.store, kind, list)).keys.some(({ id }) => id === key.id);
      attempt += 1
    ) {
      if (attempt > ATTEMPTS) throw new Error('others are writing at the same time: try again');
      const last = await deps.store.lastOfStream(stream);
      const secretVersion = (last?.revision ?? -1) + 2;
      const sealedSecret = sealWith(list, key.material.export(), context(kind, secretVersion));
      const event: SecretGenerated = {
        type: 'SecretGenerated',
        data: { purpose: purposeOf(kind), secretVersion, sealedSecret },
      };
      const { result } = await appendNext(deps, { stream, last, event, actor });
      if (result.ok) kept.push(key.id);
    }
  }
  return kept;
}

/** How many sealed texts of the ledger were sealed under which key, by its id. */
export async function countSealed(store: Pick<EventStore, 'readAll'>): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const page of pagesOf(store))
    for (const { data } of page) for (const id of keyIdsWithin(data)) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
