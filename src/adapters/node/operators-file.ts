import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OPERATOR_ROLES, type Operator, type Operators } from '../../ports/people/operators.ts';
import { derive, type KeyList, type SealingKey } from '../../runtime/cryptography/sealing.ts';
import { writePrivateFile } from '../../runtime/files/private-file.ts';
import { oneOf } from '../../domain/values/one-of.ts';
import { makeFolder } from '../../runtime/files/make-folder.ts';

interface Entry extends Operator {
  /** HMAC of the token and of what the entry says, in hex; 256 random bits need no slower hash. */
  readonly hash: string;
}

const PURPOSE = 'quittance/operator-tokens/v1';

/**
 * Operators' tokens in a file of the data directory. The running service reloads it when it changes. Only with one of
 * the keys can an entry be made or changed so that its token is accepted. `keys`: the first makes entries; all of them
 * verify.
 */
export function fileOperators(dataDir: string, keys: () => KeyList): Operators {
  const path = join(dataDir, 'operators.json');
  let known: { readonly stamp: string; readonly entries: readonly Entry[] } = { stamp: '', entries: [] };

  function entries(): readonly Entry[] {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (!stat) return [];
    const stamp = `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
    if (stamp !== known.stamp) known = { stamp, entries: parse(readFileSync(path, 'utf8'), path) };
    return known.entries;
  }

  return {
    list: () => entries().map(withoutHash),
    create: (name, role, nowSec) => {
      const token = `qop_${randomBytes(32).toString('base64url')}`;
      const operator: Operator = { id: `op_${randomBytes(8).toString('hex')}`, name, role, createdAtSec: nowSec };
      replace(path, [...entries(), { ...operator, hash: hashOf(keys().keys[0], operator, token).toString('hex') }]);
      return { operator, token };
    },
    revoke: (id) => {
      const before = entries();
      const left = before.filter((entry) => entry.id !== id);
      if (left.length < before.length) replace(path, left);
      return left.length < before.length;
    },
    find: (token) => {
      const held = keys().keys;
      const found = entries().find((entry) => held.some((key) => isSame(entry.hash, hashOf(key, entry, token))));
      return found ? withoutHash(found) : null;
    },
  };
}

function hashOf({ material }: SealingKey, { id, name, role, createdAtSec }: Operator, token: string): Buffer {
  const text = JSON.stringify([id, name, role, createdAtSec, token]);
  return createHmac('sha256', derive(material, PURPOSE)).update(text).digest();
}

/** Timing reveals nothing about the hash. */
function isSame(stored: string, expected: Buffer): boolean {
  const bytes = Buffer.from(stored, 'hex');
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

const withoutHash = ({ id, name, role, createdAtSec }: Entry): Operator => ({ id, name, role, createdAtSec });

/**
 * Replaces the file atomically. Of two simultaneous commands the second is refused, so neither loses the other's entry.
 */
function replace(path: string, entries: readonly Entry[]): void {
  makeFolder(dirname(path));
  writePrivateFile(path, `${JSON.stringify(entries, null, 2)}\n`, `${path}.new`);
}

function parse(text: string, path: string): Entry[] {
  const entries = JSON.parse(text) as Entry[];
  const isEntry = ({ id, name, role, hash: kept }: Entry): boolean =>
    [id, name, kept].every((field) => typeof field === 'string') && oneOf(OPERATOR_ROLES)(role);
  if (!Array.isArray(entries) || !entries.every(isEntry)) throw new Error(`${path} is not a list of operators`);
  return entries;
}
