import { createTokenBucketLimiter } from '../../adapters/memory/token-bucket.ts';
import { InvalidConfig, readConfig, type Config } from '../../config.ts';
import { CommandRefused } from '../../operator/server/commands.ts';
import type { LiveSettings } from '../../operator/settings.ts';
import type { LocalRateLimiter, RateLimiter } from '../../ports/rate-limiter.ts';
import type { Storage } from '../storage/parts.ts';

/** Settings that can change without a restart. */
const NAMES = ['LOG_LEVEL', 'RATE_LIMIT_PER_KEY', 'RATE_LIMIT_PER_ADDRESS'] as const;
type Name = (typeof NAMES)[number];
type Values = Pick<Config, Name>;

const BURST_SECONDS = 5;
const UNLIMITED: LocalRateLimiter = {
  take: () => ({ allowed: true, limit: 0, remaining: 0, retryAfterSec: 0, resetSec: 0 }),
};

/** The settings that change while the service runs, with the limiters that follow them. */
export interface RunningSettings extends LiveSettings {
  readonly perKey: RateLimiter;
  readonly perAddress: LocalRateLimiter;
}

export interface LiveSettingsParts {
  readonly config: Values;
  /** The level of the logger behind all log lines. */
  readonly log: { level: string };
  readonly storage: Pick<Storage, 'rateLimiter'>;
  /** Whether this process serves merchants. */
  readonly isApi: boolean;
  /** Further settings of another part. */
  readonly others?: LiveSettings | null;
}

export async function startLiveSettings({
  config,
  log,
  storage,
  isApi,
  others = null,
}: LiveSettingsParts): Promise<RunningSettings> {
  const perKeyAt = async (ratePerSec: number): Promise<RateLimiter> =>
    ratePerSec === 0 || !isApi ? UNLIMITED : storage.rateLimiter({ ratePerSec, burst: ratePerSec * BURST_SECONDS });
  /** In each process: a flood must not become load on a shared server. */
  const perAddressAt = (ratePerSec: number): LocalRateLimiter =>
    ratePerSec === 0 ? UNLIMITED : createTokenBucketLimiter({ ratePerSec, burst: ratePerSec * BURST_SECONDS });

  const atStart = valuesOf(config);
  let values = atStart;
  let perKey = await perKeyAt(values.RATE_LIMIT_PER_KEY);
  let perAddress = perAddressAt(values.RATE_LIMIT_PER_ADDRESS);
  return {
    perKey: { take: (key, nowMs) => perKey.take(key, nowMs) },
    perAddress: { take: (key, nowMs) => perAddress.take(key, nowMs) },
    shown: () => [
      ...NAMES.map((name) => ({ name, value: String(values[name]), atStart: String(atStart[name]) })),
      ...(others?.shown() ?? []),
    ],
    prepare: async (changes) => {
      refuseUnknown(changes, [...NAMES, ...(others?.shown() ?? []).map(({ name }) => name)]);
      const next = checked({ ...values }, changes);
      const beside = await others?.prepare(changes);
      const isOther = (name: Name): boolean => next[name] !== values[name];
      const nextPerKey = isOther('RATE_LIMIT_PER_KEY') ? await perKeyAt(next.RATE_LIMIT_PER_KEY) : perKey;
      const nextPerAddress = isOther('RATE_LIMIT_PER_ADDRESS') ? perAddressAt(next.RATE_LIMIT_PER_ADDRESS) : perAddress;
      const loggable = Object.fromEntries(Object.entries(changes).filter(([name]) => isOwn(name)));
      return {
        loggable: { ...loggable, ...beside?.loggable },
        apply: () => {
          log.level = next.LOG_LEVEL;
          values = next;
          perKey = nextPerKey;
          perAddress = nextPerAddress;
          beside?.apply();
        },
      };
    },
  };
}

const valuesOf = ({ LOG_LEVEL, RATE_LIMIT_PER_KEY, RATE_LIMIT_PER_ADDRESS }: Values): Values => ({
  LOG_LEVEL,
  RATE_LIMIT_PER_KEY,
  RATE_LIMIT_PER_ADDRESS,
});

const isOwn = (name: string): name is Name => NAMES.some((own) => own === name);

/** Throws `CommandRefused`. */
function refuseUnknown(changes: Readonly<Record<string, string>>, live: readonly string[]): void {
  const other = Object.keys(changes).find((name) => !live.includes(name));
  if (other !== undefined)
    throw new CommandRefused(
      `${other} cannot change while the service runs: only ${live.join(', ')} can; nothing was changed`,
    );
  const empty = live.find((name) => changes[name] === '');
  if (empty !== undefined) throw new CommandRefused(`${empty} is empty; nothing was changed`);
}

/** All of the changes or none. Throws `CommandRefused`. */
function checked(values: Values, changes: Readonly<Record<string, string>>): Values {
  try {
    const given = Object.fromEntries(NAMES.map((name) => [name, changes[name] ?? String(values[name])]));
    return valuesOf(readConfig(given));
  } catch (error) {
    if (error instanceof InvalidConfig) throw new CommandRefused(`${error.message}; nothing was changed`);
    throw error;
  }
}
