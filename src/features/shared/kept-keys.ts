import type { SecretGenerated } from '../../domain/events/operations-events.ts';
import { secretsStream, type SecretPurpose } from '../../domain/values/streams.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import { appendNext, type AppendNextDeps } from '../../runtime/commands/append-next.ts';
import { dataOf } from '../../runtime/commands/codec.ts';
import { pagesOf } from '../../runtime/event-log/log-copy.ts';
import {
  isSealedUnder,
  keyIdsWithin,
  keysByKind,
  openWith,
  SEALED_KINDS,
  sealingKeyOf,
  sealWith,
  type KeyList,
  type SealedKind,
  type SealingKey,
  type SealingKeys,
} from '../../runtime/cryptography/sealing.ts';

const purposeOf = (kind: SealedKind): SecretPurpose => `retired-keys-${kind}`;
const context = (kind: SealedKind, version: number): string => `shared|${purposeOf(kind)}|${version}`;
/** Retries when several nodes write at the same moment. */
const ATTEMPTS = 20;

/**
 * The keys from the settings followed by retired ones. The event log stores each retired key sealed under a later key
 * of its kind, so texts sealed under retired keys can still be opened without rewriting the log.
 */
export async function withKeptKeys(store: Pick<EventStore, 'readStream'>, given: SealingKeys): Promise<SealingKeys> {
  const lists = await Promise.all(
    SEALED_KINDS.map(async (kind) => [kind, given[kind] && (await withKept(store, kind, given[kind]))] as const),
  );
  const found = new Map(lists);
  return keysByKind((kind) => found.get(kind) ?? null);
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
  // A key retired later opens one retired before, in whatever order they come.
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

/** What the first key of a list can open without the others. */
export const openedByFirst = (
  store: Pick<EventStore, 'readStream'>,
  kind: SealedKind,
  { setting, keys }: KeyList,
): Promise<KeyList> => withKept(store, kind, { setting, keys: [keys[0]] });

/**
 * Stores every key but the first in the event log, sealed under the first, unless the first can already open it.
 * Returns the ids of the keys stored by this call.
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

/** Number of sealed texts in the event log, by key id. */
export async function countSealed(store: Pick<EventStore, 'readAll'>): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const page of pagesOf(store))
    for (const { data } of page) for (const id of keyIdsWithin(data)) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
