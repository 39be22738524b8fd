import { readFileSync } from 'node:fs';
import { InvalidConfig } from '../config.ts';
import { codeOf } from '../runtime/util/code-of.ts';

/** Throws `InvalidConfig` for a file that cannot be read or whose content could be guessed. */
export function readSharedSecret(file: string): string {
  const secret = textOf(file);
  if (!/^[0-9A-Za-z+/=_-]{32,1024}$/.test(secret))
    throw new InvalidConfig(
      'SIGNER_SECRET_FILE must hold one line of 32 or more characters from letters, digits and +/=_-: openssl rand -hex 32',
    );
  return secret;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new InvalidConfig(`SIGNER_SECRET_FILE: ${file} cannot be read (${codeOf(error) ?? 'unknown'})`);
  }
}
