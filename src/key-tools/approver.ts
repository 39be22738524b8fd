import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CommandRefused, optionalText, requiredText, type AdminArguments } from '../operator/server/commands.ts';
import { askNewPassphrase, askPassphrase } from '../cli/passphrase.ts';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import { SCRYPT_COST } from '../signer/keys/sealed-text.ts';
import { makeApproverKey, openApproverKey, type OpenedKey } from './approver-key.ts';
import { checkedPassphrase, readText, writeText } from './wallet.ts';

type Environment = Record<string, string | undefined>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/;

/** `quittance approver enroll`: a new key file with its entry for PAYOUT_APPROVERS. Never overwrites a file. */
export async function enrolApprover(args: AdminArguments, env: Environment): Promise<JsonValue> {
  const name = requiredText(args, 'name');
  if (!NAME.test(name))
    throw new CommandRefused(
      'name must begin with a letter or digit and have letters, digits, spaces and . _ - only, 64 at most',
    );
  const file = resolve(requiredText(args, 'key'));
  if (existsSync(file)) throw new CommandRefused(`${file} exists: a key is never overwritten, move it away first`);
  const passphrase = checkedPassphrase(givenPassphrase(args, env) ?? (await askNewPassphrase('key')));
  const { file: text, entry } = makeApproverKey(name, passphrase, SCRYPT_COST.passphrase);
  writeText(file, text);
  return { key: file, PAYOUT_APPROVERS: JSON.stringify([entry]) };
}

/** Opens the key for signing, after the terms were shown. */
export async function openKeyFile(args: AdminArguments, env: Environment): Promise<OpenedKey> {
  const text = readText(requiredText(args, 'key'), 'key');
  return openApproverKey(
    text,
    givenPassphrase(args, env) ?? (await askPassphrase('Passphrase of the key, to sign this: ')),
  );
}

/** Null if none is given. Never from the command line, which every user of the machine can read. */
function givenPassphrase(args: AdminArguments, env: Environment): string | null {
  const file = optionalText(args, 'passphraseFile') ?? env['APPROVER_PASSPHRASE_FILE'];
  return file ? readText(file, 'passphrase-file').trim() : null;
}
