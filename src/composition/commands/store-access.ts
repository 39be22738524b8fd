import type { StoreAccess, StreamAccess } from '../../adapters/esdb/access.ts';
import { MODES } from '../../domain/values/ids.ts';
import { ADDRESS_FAMILIES, NETWORKS } from '../../domain/networks/networks.ts';
import {
  addressesStream,
  addressSourceStream,
  adjustmentsStream,
  AUDIT_STREAM,
  canaryStream,
  coverageStream,
  rescansStream,
  ledgerPeriodsStream,
  OPERATOR_ACTS_STREAM,
  SECRET_PURPOSES,
  secretsStream,
  treasuryStream,
} from '../../domain/values/streams.ts';

/**
 * Users of the event store: one for each role, one that only reads, one that only erases keys of personal data, and one
 * that only reads the servers' metrics.
 */
export const STORE_USERS = ['api', 'worker', 'signer', 'auditor', 'eraser', 'metrics'] as const;
export type StoreUser = (typeof STORE_USERS)[number];

const NODES = ['api', 'worker', 'signer'] as const satisfies readonly StoreUser[];
const READERS = [...NODES, 'auditor'] as const satisfies readonly StoreUser[];

export const nameOfUser = (user: StoreUser): string => `quittance-${user}`;

const modesAnd = <Part>(parts: readonly Part[], name: (mode: (typeof MODES)[number], part: Part) => string): string[] =>
  MODES.flatMap((mode) => parts.map((part) => name(mode, part)));

/**
 * Streams with fixed names, and the roles that append to them. Every node may append to streams with generated names,
 * such as a session's.
 */
export const FIXED_STREAMS: readonly { readonly streams: readonly string[]; readonly append: readonly StoreUser[] }[] =
  [
    { streams: [AUDIT_STREAM, ...modesAnd(NETWORKS, treasuryStream)], append: ['signer'] },
    {
      streams: [coverageStream, rescansStream, canaryStream].flatMap((stream) => modesAnd(NETWORKS, stream)),
      append: ['worker'],
    },
    {
      streams: [...modesAnd(ADDRESS_FAMILIES, addressesStream), ...SECRET_PURPOSES.map(secretsStream)],
      append: ['api'],
    },
    // The API asks whether addresses are the signer's own; the signer answers.
    { streams: modesAnd(ADDRESS_FAMILIES, addressSourceStream), append: ['api', 'signer'] },
    // Operators decide on whichever node they ask.
    {
      streams: [OPERATOR_ACTS_STREAM, ...MODES.map(ledgerPeriodsStream), ...MODES.map(adjustmentsStream)],
      append: NODES,
    },
  ];

/**
 * The rights of each user. The server's access lists apply to one stream or to all, so erasable streams cannot be
 * separated by name.
 */
export function storeAccessOf(passwords: ReadonlyMap<StoreUser, string>, opsPassword: string): StoreAccess {
  const accessOf = (append: readonly StoreUser[], erase: readonly StoreUser[]): StreamAccess => ({
    read: READERS.map(nameOfUser),
    append: append.map(nameOfUser),
    delete: erase.map(nameOfUser),
  });
  return {
    usual: accessOf(NODES, ['eraser']),
    streams: new Map(
      FIXED_STREAMS.flatMap(({ streams, append }) => streams.map((stream) => [stream, accessOf(append, [])] as const)),
    ),
    wholeLog: READERS.map(nameOfUser),
    users: [...passwords].map(([user, password]) => ({ name: nameOfUser(user), password })),
    opsPassword,
  };
}
