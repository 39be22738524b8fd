import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CommandRefused } from '../operator/server/commands.ts';

type Ask = (question: string) => Promise<string>;

/** Where a person reads and types. Output that is sent to a file or another program is no terminal. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** Standard output is for answers, which other programs read. */
export const ownTerminal = (): Terminal => ({ input: process.stdin, output: process.stderr });

export const isThere = ({ input, output }: Terminal): boolean => input.isTTY === true && output.isTTY === true;

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

/** Throws `CommandRefused` without a terminal, and when the input ends. */
function onTerminal(task: (ask: Ask) => Promise<string>): Promise<string> {
  const terminal = ownTerminal();
  if (terminal.input.isTTY !== true)
    throw new CommandRefused('the passphrase is missing: name a file with --passphrase-file');
  return questions(terminal, 'hidden', task);
}

/** The screens of terminals: the second has no scrollback, and the first comes back as it was. */
const [SECOND_SCREEN, FIRST_SCREEN, CLEAR] = ['\u001b[?1049h', '\u001b[?1049l', '\u001b[2J\u001b[3J\u001b[H'];

/** Text and questions on a screen of their own, of which nothing stays to be read. Throws like `questions`. */
export async function onSecretScreen(
  terminal: Terminal,
  task: (show: (text: string) => void, ask: Ask) => Promise<void>,
): Promise<void> {
  const show = (text: string): void => void terminal.output.write(`${CLEAR}${text}`);
  terminal.output.write(SECOND_SCREEN);
  try {
    await questions(terminal, 'visible', (ask) => task(show, ask));
  } finally {
    terminal.output.write(`${CLEAR}${FIRST_SCREEN}`);
  }
}

/** Throws `CommandRefused` when the input ends before an answer. */
async function questions<Result>(
  { input, output }: Terminal,
  answers: 'visible' | 'hidden',
  task: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const isHidden = answers === 'hidden';
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input, output: isHidden ? silent : output, terminal: true, historySize: 0 });
  const lines = reader[Symbol.asyncIterator]();
  try {
    return await task(async (question) => {
      if (isHidden) output.write(question);
      reader.setPrompt(question);
      reader.prompt();
      const { value, done } = await lines.next();
      if (isHidden) output.write('\n');
      if (done === true) throw new CommandRefused('the input ended before an answer');
      return value;
    });
  } finally {
    reader.close();
  }
}
