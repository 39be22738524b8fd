import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CommandRefused } from '../operator/commands.ts';

/** Asks on the terminal, twice, without showing what is typed. Throws `CommandRefused` where there is no terminal or the two differ. */
export async function askNewPassphrase(): Promise<string> {
  if (!process.stdin.isTTY) throw new CommandRefused('the passphrase is missing: name a file with --passphrase-file');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const input = createInterface({ input: process.stdin, output: silent, terminal: true });
  const lines = input[Symbol.asyncIterator]();
  const ask = async (question: string): Promise<string> => {
    process.stderr.write(question);
    const { value, done } = await lines.next();
    process.stderr.write('\n');
    if (done === true) throw new CommandRefused('no passphrase was given');
    return value;
  };
  try {
    const passphrase = await ask('Passphrase of the new keystore: ');
    if ((await ask('Once more: ')) !== passphrase) throw new CommandRefused('the two passphrases differ');
    return passphrase;
  } finally {
    input.close();
  }
}
