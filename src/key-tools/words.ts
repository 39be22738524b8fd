import { randomInt } from 'node:crypto';
import { onSecretScreen, type Terminal } from '../cli/passphrase.ts';
import { CommandRefused } from '../operator/server/commands.ts';

export const LOST_WITHOUT_WORDS =
  'Without the words, a lost keystore file or a forgotten passphrase means that all money of this wallet is lost for ever: ' +
  'neither a backup nor the makers of this service can bring it back. ' +
  'Whoever reads the words has the money: keep them on paper, apart from this host, in no photo, file or chat.';

const ASKED = 3;
const ROUNDS = 3;
const PER_LINE = 4;
const COLUMN = 16;

/**
 * Shows the words to whoever sits at the terminal, then asks for some of them. Throws `CommandRefused` when they are not
 * what was shown, or when the person ends it.
 */
export function showWords(terminal: Terminal, mnemonic: string): Promise<void> {
  // Imported words are kept as they were brought.
  const words = mnemonic.trim().toLowerCase().split(/\s+/);
  return onSecretScreen(terminal, async (show, ask) => {
    let before = '';
    for (let round = 0; round < ROUNDS; round += 1) {
      show(
        `${before}Write these ${words.length} words down, in this order:\n\n${listed(words)}\n\n${LOST_WITHOUT_WORDS}\n\n`,
      );
      await ask('Press Enter when they are written down; some of them will be asked for. ');
      show('From what you wrote down:\n\n');
      if (await areKnown(words, ask)) return;
      before = 'That was not what was shown. Compare what you wrote with the words:\n\n';
    }
    throw new CommandRefused(`the words were not typed as they were shown, ${ROUNDS} times: begin again`);
  });
}

async function areKnown(words: readonly string[], ask: (question: string) => Promise<string>): Promise<boolean> {
  for (const place of places(words.length))
    if ((await ask(`Word ${place + 1}: `)).trim().toLowerCase() !== words[place]) return false;
  return true;
}

function places(count: number): number[] {
  const chosen = new Set<number>();
  while (chosen.size < ASKED) chosen.add(randomInt(count));
  return [...chosen].toSorted((left, right) => left - right);
}

function listed(words: readonly string[]): string {
  const cells = words.map((word, place) => `${String(place + 1).padStart(2)}. ${word}`.padEnd(COLUMN));
  const lines = Array.from({ length: Math.ceil(cells.length / PER_LINE) }, (_, line) =>
    cells
      .slice(line * PER_LINE, (line + 1) * PER_LINE)
      .join('')
      .trimEnd(),
  );
  return lines.join('\n');
}
