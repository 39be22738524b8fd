import { InvalidConfig, type Config } from '../config.ts';
import {
  InvalidMasterKey,
  KEY_SETTINGS,
  keysByKind,
  parseKeys,
  SEALED_KINDS,
  type KeyList,
  type SealedKind,
  type SealingKeys,
} from '../runtime/cryptography/sealing.ts';

/**
 * The kinds that a role opens and seals. The signer decides by chains and approvals, and opens nothing in the event
 * log.
 */
const NEEDED: Readonly<Record<Config['ROLES'][number], readonly SealedKind[]>> = {
  api: SEALED_KINDS,
  worker: ['webhook-secrets'],
  signer: [],
};

type KeySettings = Pick<Config, 'MASTER_KEY' | (typeof KEY_SETTINGS)[SealedKind]>;

const isGiven = (config: KeySettings, kind: SealedKind): boolean =>
  (config[KEY_SETTINGS[kind]] ?? config.MASTER_KEY) !== undefined;
const neededBy = (roles: Config['ROLES']): ReadonlySet<SealedKind> => new Set(roles.flatMap((role) => NEEDED[role]));

/** Whether the settings contain any key. */
export const namesKeys = (config: KeySettings): boolean => SEALED_KINDS.some((kind) => isGiven(config, kind));

/**
 * The keys that the settings give this process: those of each kind, or else `MASTER_KEY`. Throws `InvalidMasterKey`.
 */
export function sealingKeysOf(config: KeySettings): SealingKeys {
  return keysByKind((kind) => {
    const own = KEY_SETTINGS[kind];
    const [setting, text] =
      config[own] === undefined ? (['MASTER_KEY', config.MASTER_KEY] as const) : ([own, config[own]] as const);
    return text === undefined ? null : parseKeys(kind, setting, text);
  });
}

/** The same, with an invalid key as a fault of the settings. Throws `InvalidConfig`. */
export function sealingKeysOrFault(config: KeySettings): SealingKeys {
  try {
    return sealingKeysOf(config);
  } catch (error) {
    throw error instanceof InvalidMasterKey ? new InvalidConfig(error.message) : error;
  }
}

/**
 * The keys that authenticate the event log and what is shipped of it: those of the kind that the fewest processes hold.
 * Throws `InvalidConfig`.
 */
export function authenticationKeys(sealingKeys: SealingKeys | null): KeyList {
  const keys = sealingKeys?.['api-secrets'];
  if (keys) return keys;
  throw new InvalidConfig(
    `${KEY_SETTINGS['api-secrets']} or MASTER_KEY is missing: the event log, and what is shipped of it, are authenticated under it`,
  );
}

/** Keys that this process's roles lack, and keys that are not separate, in words for the operator. */
export function sealingKeyFaults(config: Config): string[] {
  const missing = [...neededBy(config.ROLES)].filter((kind) => !isGiven(config, kind));
  const faults =
    missing.length < SEALED_KINDS.length ? missing.map((kind) => missingKey(kind, config.ROLES)) : [NO_KEY];
  if (config.ADMIN_PORT !== undefined && !missing.includes('api-secrets') && !isGiven(config, 'api-secrets'))
    faults.push(
      `ADMIN_PORT needs ${KEY_SETTINGS['api-secrets']}, which authenticates the tokens of operators: serve it by a process with the role api`,
    );
  const first = SEALED_KINDS.map(
    (kind) => [KEY_SETTINGS[kind], config[KEY_SETTINGS[kind]]?.split(',')[0]?.trim()] as const,
  );
  for (const [index, [name, text]] of first.entries()) {
    const same = text === undefined ? undefined : first.slice(0, index).find(([, other]) => other === text);
    if (same)
      faults.push(
        `${same[0]} and ${name} are the same key: whoever has one of them has both; create a separate one for each`,
      );
  }
  return faults;
}

const NO_KEY =
  'MASTER_KEY is missing: 32 random bytes, for example from `openssl rand -hex 32`; or one for each kind: API_SECRETS_KEY, WEBHOOK_SECRETS_KEY, PERSONAL_DATA_KEY';

const missingKey = (kind: SealedKind, roles: Config['ROLES']): string =>
  `${KEY_SETTINGS[kind]} is missing: the role ${roles.filter((role) => NEEDED[role].includes(kind)).join(' and ')} needs it; ` +
  'set it to 32 random bytes, for example from `openssl rand -hex 32`, the same wherever it is needed';

/** Keys that this process's roles do not need and an attacker would gain, in words for the operator. */
export function needlessKeys(config: Config): string[] {
  const needed = neededBy(config.ROLES);
  const needless = SEALED_KINDS.filter((kind) => !needed.has(kind) && isGiven(config, kind));
  const own = needless.filter((kind) => config[KEY_SETTINGS[kind]] !== undefined).map((kind) => KEY_SETTINGS[kind]);
  const roles = config.ROLES.join(', ');
  const warnings = own.map(
    (name) =>
      `${name} is not needed by the role ${roles}: omit it, so that an attacker who takes over this process does not get it`,
  );
  if (config.MASTER_KEY === undefined || needless.length === own.length) return warnings;
  const instead = [...needed].map((kind) => KEY_SETTINGS[kind]);
  const what = instead.length === 0 ? 'no key' : `${instead.join(', ')} alone`;
  return [
    ...warnings,
    `MASTER_KEY opens more than the role ${roles} needs: give this process ${what} (docs/operations.md, "Keys that seal")`,
  ];
}
