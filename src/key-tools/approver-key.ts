import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { must } from '../domain/values/must.ts';
import { CommandRefused } from '../operator/server/commands.ts';
import type { ApproverKey } from '../ports/signer/approvals.ts';
import { writePrivateFile } from '../runtime/files/private-file.ts';
import { openText, SCRYPT_COST, sealedFields, sealText, type ScryptCost } from '../signer/keys/sealed-text.ts';
import { makeFolder } from '../runtime/files/make-folder.ts';

/* The key of an approver, which stays on the approver's machine in a file encrypted under a passphrase. */

const FORMAT = 'quittance-approver-key';
const fileSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(1),
  name: z.string(),
  publicKey: z.string(),
  ...sealedFields,
});
const headerOf = (name: string, publicKey: string): readonly unknown[] => [FORMAT, 1, name, publicKey];

/** The text of the file, and the entry for the signer's configuration. */
export function makeApproverKey(
  name: string,
  passphrase: string,
  cost: ScryptCost,
): { readonly file: string; readonly entry: ApproverKey } {
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const publicKey = must(x);
  const sealed = sealText(headerOf(name, publicKey), must(d), passphrase, cost);
  const file = `${JSON.stringify({ format: FORMAT, version: 1, name, publicKey, ...sealed }, null, 2)}\n`;
  return { file, entry: { name, kind: 'ed25519', publicKey } };
}

export interface OpenedKey {
  readonly name: string;
  /** Base64url. */
  readonly sign: (text: string) => string;
}

/** Throws `CommandRefused`. */
export function openApproverKey(text: string, passphrase: string): OpenedKey {
  const file = parsed(text);
  const d = openText(headerOf(file.name, file.publicKey), file, passphrase);
  if (d === null) throw new CommandRefused('the passphrase does not open the key, or the file was modified');
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x: file.publicKey, d }, format: 'jwk' });
  return { name: file.name, sign: (terms) => sign(null, Buffer.from(terms), key).toString('base64url') };
}

function parsed(text: string): z.infer<typeof fileSchema> {
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch {
    throw new CommandRefused('the file is not the key of an approver: create one with "quittance approver enroll"');
  }
}

const DEMO_NAMES = ['demo-1', 'demo-2'] as const;

/**
 * The sandbox creates two approvers automatically, so that everything can be tried. Their passphrase is stored next to
 * their keys.
 */
export function demoApprovers(dataDir: string): ApproverKey[] {
  const directory = join(dataDir, 'approvers');
  const passphraseFile = join(directory, 'passphrase');
  makeFolder(directory);
  if (!existsSync(passphraseFile)) writePrivateFile(passphraseFile, `${randomBytes(32).toString('hex')}\n`);
  const passphrase = readFileSync(passphraseFile, 'utf8').trim();
  return DEMO_NAMES.map((name) => {
    const path = join(directory, `${name}.json`);
    if (!existsSync(path)) writePrivateFile(path, makeApproverKey(name, passphrase, SCRYPT_COST.randomKey).file);
    return { name, kind: 'ed25519', publicKey: parsed(readFileSync(path, 'utf8')).publicKey };
  });
}
