import type { Config } from '../config.ts';

/** The roles of this process. */
export interface Roles {
  /** Serves merchants and payers. */
  readonly api: boolean;
  /** Takes its share of the background work: reading chains, look-ups, expiry, webhooks. */
  readonly worker: boolean;
  /** Holds the keys and makes payments; nothing connects to it. */
  readonly signer: boolean;
}

export function rolesOf({ ROLES: roles }: Config): Roles {
  return { api: roles.includes('api'), worker: roles.includes('worker'), signer: roles.includes('signer') };
}

/** Faults in the combination of stores and roles, in words for the operator. */
export function profileFaults(config: Config): string[] {
  const isShared = config.EVENTSTORE_URL !== undefined && config.REDIS_URL !== undefined;
  const faults: string[] = [];
  if (!isShared && (config.EVENTSTORE_URL !== undefined || config.REDIS_URL !== undefined))
    faults.push('EVENTSTORE_URL and REDIS_URL belong together: set both, or neither for the embedded store');
  const { api, worker } = rolesOf(config);
  if (!isShared && !(api && worker))
    faults.push(
      `ROLES is ${config.ROLES.join(',')}: the embedded store belongs to one process, which needs the roles api and worker`,
    );
  if (config.LOOK_UP_SNAPSHOT_DIR !== undefined && !isShared)
    faults.push(
      'LOOK_UP_SNAPSHOT_DIR is for processes that share an event log: set EVENTSTORE_URL and REDIS_URL, or omit it',
    );
  return faults;
}
