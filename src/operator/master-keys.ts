import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Random } from '../ports/random.ts';
import { countSealed, keepOlderKeys, withKeptKeys } from '../features/shared/kept-master-keys.ts';
import type { MasterKeys } from '../runtime/util/sealing.ts';
import { actorOf } from './acts.ts';
import { CommandRefused, type AdminCommands } from './commands.ts';

export interface MasterKeyParts {
  readonly store: Pick<EventStore, 'append' | 'lastOfStream' | 'readStream' | 'readAll'>;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
  readonly random: Random;
}

/** `quittance key rewrap`: after it, the first key of MASTER_KEY is enough. May be ended and run again. */
export function masterKeyCommands(parts: MasterKeyParts): AdminCommands {
  return {
    'key.rewrap': async (args) => {
      const [first] = parts.masterKeys;
      const keptNow = await keepOlderKeys(parts, parts.masterKeys, actorOf(args));
      const alone = new Set((await withKeptKeys(parts.store, [first])).map(({ id }) => id));
      const sealed = await countSealed(parts.store);
      const lost = [...sealed].filter(([id]) => !alone.has(id)).map(([id]) => id);
      if (lost.length > 0)
        throw new CommandRefused(
          `the ledger holds what was sealed under ${lost.join(', ')}, which is not in MASTER_KEY: add that key and run this again`,
        );
      const keys = [...alone].map((id) => ({
        ...{
          key: id,
          sealed: sealed.get(id) ?? 0,
          state: id === first.id ? 'seals, and must stay in MASTER_KEY' : 'kept in the ledger: take it out of MASTER_KEY',
        },
        kept_now: keptNow.includes(id),
      }));
      return { keys, enough: first.id };
    },
  };
}
