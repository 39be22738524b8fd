import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-log/event-store.ts';
import type { Random } from '../ports/random.ts';
import { countSealed, keepOlderKeys, openedByFirst } from '../features/shared/kept-keys.ts';
import {
  KEY_SETTINGS,
  SEALED_KINDS,
  type KeyList,
  type SealedKind,
  type SealingKeys,
} from '../runtime/cryptography/sealing.ts';
import { actorOf, recordAct } from './server/acts.ts';
import { CommandRefused, type AdminCommands } from './server/commands.ts';
import { must } from '../domain/values/must.ts';

export interface SealingKeyParts {
  readonly store: Pick<EventStore, 'append' | 'lastOfStream' | 'readStream' | 'readAll'>;
  readonly sealingKeys: SealingKeys;
  readonly clock: Clock;
  readonly random: Random;
}

interface Retiring {
  readonly kind: SealedKind;
  readonly list: KeyList;
  readonly keptNow: readonly string[];
  /** The ids that the first key opens on its own. */
  readonly alone: readonly string[];
}

/** `quittance key rewrap`: afterwards the first key of each kind is enough. Can be interrupted and run again. */
export function sealingKeyCommands(parts: SealingKeyParts): AdminCommands {
  return {
    'key.rewrap': async (args) => {
      const lists = heldLists(parts.sealingKeys);
      const kinds: Retiring[] = [];
      for (const [kind, list] of lists) {
        const keptNow = await keepOlderKeys(parts, kind, list, actorOf(args));
        kinds.push({
          kind,
          list,
          keptNow,
          alone: (await openedByFirst(parts.store, kind, list)).keys.map(({ id }) => id),
        });
      }
      const sealed = await countSealed(parts.store);
      const known = new Set(kinds.flatMap(({ alone }) => alone));
      const lost = [...sealed.keys()].filter((id) => !known.has(id));
      if (lost.length > 0)
        throw new CommandRefused(
          `the event log holds data sealed under ${lost.join(', ')}, which is not in ${settingsOf(kinds)}: add that key and run this again`,
        );
      // The end of the event log is then sealed under the first key, by which alone the next start may verify it.
      await recordAct(parts, 'key.rewrap', null, args);
      const keys = kinds.flatMap(({ kind, list, keptNow, alone }) => {
        const { setting } = list;
        return alone.map((id) => ({
          ...{ key: id, seals: kind, setting, sealed: sealed.get(id) ?? 0 },
          state:
            id === list.keys[0].id
              ? `seals, and must stay in ${setting}`
              : `stored in the event log: remove it from ${setting}`,
          kept_now: keptNow.includes(id),
        }));
      });
      return { keys, enough: Object.fromEntries(kinds.map(({ kind, list }) => [kind, list.keys[0].id])) };
    },
  };
}

/** Telling a lost key from one of another kind requires the keys of every kind. */
function heldLists(keys: SealingKeys): (readonly [SealedKind, KeyList])[] {
  const missing = SEALED_KINDS.filter((kind) => keys[kind] === null).map((kind) => KEY_SETTINGS[kind]);
  if (missing.length > 0)
    throw new CommandRefused(
      `${missing.join(', ')}: not held by this process, which needs all keys; run this on one with the role api`,
    );
  return SEALED_KINDS.map((kind) => [kind, must(keys[kind])] as const);
}

const settingsOf = (kinds: readonly Retiring[]): string =>
  [...new Set(kinds.map(({ list }) => list.setting))].join(', ');
