import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CommandRefused } from '../operator/server/commands.ts';

type Ask = (question: string) => Promise<string>;

/** Asks twice for a new passphrase. Throws `CommandRefused` without a terminal or when the two differ. */
export function askNewPassphrase(of: 'keystore' | 'key'): Promise<string> {
  return onTerminal(async (ask) => {
    const passphrase = await ask(`Passphrase of the new ${of}: `);
    if ((await ask('Once more: ')) !== passphrase) throw new CommandRefused('the two passphrases differ');
    return passphrase;
  });
}

/** Throws `CommandRefused` without a terminal. */
export const askPassphrase = (question: string): Promise<string> => onTerminal((ask) => ask(question));

/** What is typed, which is shown as it is typed; null without a terminal. */
export async function askVisibly(question: string): Promise<string | null> {
  if (!process.stdin.isTTY) return null;
  const input = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  try {
    return await new Promise<string>((answer) => {
      input.once('close', () => answer(''));
      input.question(question, answer);
    });
  } finally {
    input.close();
  }
}

/** Input is not echoed. */
async function onTerminal(task: (ask: Ask) => Promise<string>): Promise<string> {
  if (!process.stdin.isTTY) throw new CommandRefused('the passphrase is missing: name a file with --passphrase-file');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const input = createInterface({ input: process.stdin, output: silent, terminal: true });
  const lines = input[Symbol.asyncIterator]();
  try {
    return await task(async (question) => {
      process.stderr.write(question);
      const { value, done } = await lines.next();
      process.stderr.write('\n');
      if (done === true) throw new CommandRefused('no passphrase given');
      return value;
    });
  } finally {
    input.close();
  }
}
