import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Terminal } from '../../../src/cli/passphrase.ts';
import { runWalletTool } from '../../../src/key-tools/wallet.ts';
import type { Log } from '../../../src/ports/log.ts';
import { openKeystore, sealKeystore } from '../../../src/signer/keys/keystore.ts';
import { SCRYPT_COST } from '../../../src/signer/keys/sealed-text.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const PASSPHRASE = 'correct horse battery';
const MNEMONIC = 'test test test test test test test test test test test junk';
const SECOND_SCREEN = '\u001b[?1049h';
const FIRST_SCREEN = '\u001b[?1049l';

let folder: string;
let keystore: string;
beforeEach(() => {
  folder = temporaryFolder('words');
  keystore = join(folder, 'wallet.json');
  writeFileSync(join(folder, 'passphrase'), PASSPHRASE);
});

/** A person who reads what is shown, writes it down and types it again, as `typed` changes it; null ends the input. */
class Person implements Terminal {
  readonly input: Terminal['input'];
  readonly output: Terminal['output'];
  shown = '';
  readonly asked: number[] = [];
  written = new Map<number, string>();
  keystoreWhenAsked = false;

  constructor(typed: (word: string, count: number) => string | null = (word) => word) {
    const keyboard = new PassThrough();
    let unread = '';
    const answer = (line: string | null): void => {
      unread = '';
      setImmediate(() => (line === null ? keyboard.end() : keyboard.write(`${line}\n`)));
    };
    const screen = new Writable({
      write: (chunk, _, done) => {
        this.shown += String(chunk);
        unread += String(chunk);
        for (const [, place, word] of unread.matchAll(/(\d+)\. (\w+)/g)) this.written.set(Number(place), word!);
        const place = Number(/Word (\d+): /.exec(unread)?.[1] ?? 0);
        if (unread.includes('Press Enter')) answer('');
        else if (place > 0) {
          this.asked.push(place);
          this.keystoreWhenAsked ||= existsSync(keystore);
          answer(typed(this.written.get(place)!, this.asked.length));
        }
        done();
      },
    });
    this.input = Object.assign(keyboard, { isTTY: true });
    this.output = Object.assign(screen, { isTTY: true });
  }

  get words(): string {
    return [...this.written.values()].join(' ');
  }
}

const logged: string[] = [];
const note = (...said: unknown[]): void => void logged.push(JSON.stringify(said));
const log: Log = { info: note, warn: note, error: note };
const run = (command: string, args: Record<string, string | boolean>, terminal: Terminal) =>
  runWalletTool(
    `wallet.${command}`,
    { mode: 'live', keystore, passphraseFile: join(folder, 'passphrase'), ...args },
    {},
    log,
    terminal,
  );
/** A keystore that is there already. */
const there = (mnemonic: string): void =>
  writeFileSync(keystore, JSON.stringify(sealKeystore('live', mnemonic, PASSPHRASE, SCRYPT_COST.randomKey)));
const wordsIn = (file: string): string => openKeystore(readFileSync(file, 'utf8'), 'live', PASSPHRASE);

describe('the recovery words of a live keystore', () => {
  it('are shown and three of them asked for before it is written, and nothing of them stays on screen or in an answer', async () => {
    const person = new Person();
    const made = JSON.stringify(await run('init', {}, person));
    expect(person.words.split(' ')).toHaveLength(24);
    expect(wordsIn(keystore)).toBe(person.words);
    expect([new Set(person.asked).size, person.keystoreWhenAsked]).toEqual([3, false]);
    expect(person.shown).toContain('lost for ever');
    expect(made).toContain('lost for ever');
    // All of it was on a screen that is gone, and cleared before and after the questions.
    expect(person.shown.startsWith(SECOND_SCREEN)).toBe(true);
    expect(person.shown.endsWith(FIRST_SCREEN)).toBe(true);
    const questions = person.shown.slice(person.shown.lastIndexOf('\u001b[2J', person.shown.indexOf('Word ')));
    expect(questions).not.toContain(person.words.split(' ').slice(0, 2).join('  '));
    expect(questions).not.toMatch(/\d+\. \w+/);
    expect(made + logged.join()).not.toContain(person.words.slice(0, 20));
  });

  it('are shown again after a wrong answer; after three of them no keystore is written', async () => {
    const person = new Person((word, count) => (count === 2 ? 'wrong' : ` ${word.toUpperCase()} `));
    await run('init', {}, person);
    expect(person.asked).toHaveLength(5);
    expect(person.shown).toContain('not what was shown');
    expect(wordsIn(keystore)).toBe(person.words);

    const other = join(folder, 'other.json');
    await expect(run('init', { keystore: other }, new Person(() => ''))).rejects.toThrow('3 times');
    expect(existsSync(other)).toBe(false);
  });

  it('leave neither keystore nor words behind when the person ends it', async () => {
    const person = new Person(() => null);
    await expect(run('init', {}, person)).rejects.toThrow('the input ended');
    expect(existsSync(keystore)).toBe(false);
    expect(person.shown.endsWith(FIRST_SCREEN)).toBe(true);
  });

  it.each([
    ['input', 'init'],
    ['output', 'init'],
    ['input', 'words'],
    ['output', 'words'],
  ] as const)('are shown to no program: %s without a terminal, wallet %s', async (side, command) => {
    if (command === 'words') there(MNEMONIC);
    const person = new Person();
    Object.assign(person[side], { isTTY: undefined });
    await expect(run(command, {}, person)).rejects.toThrow(/at a terminal.* there is none/);
    expect([person.shown, existsSync(keystore)]).toEqual(['', command === 'words']);
  });

  it('are shown later from the keystore, if asked for so: to its passphrase', async () => {
    const first = new Person();
    const made = await run('init', { wordsLater: true }, first);
    expect([first.shown, made]).toEqual(['', expect.objectContaining({ words: expect.stringContaining('not shown') })]);
    const later = new Person();
    const answer = await run('words', {}, later);
    expect(later.words).toBe(wordsIn(keystore));
    expect(later.asked).toHaveLength(3);
    expect(JSON.stringify(answer)).not.toContain(later.words.slice(0, 20));

    writeFileSync(join(folder, 'passphrase'), 'another passphrase');
    const stranger = new Person();
    await expect(run('words', {}, stranger)).rejects.toThrow('keystore: the passphrase does not open');
    expect(stranger.shown).toBe('');
    await expect(run('words', { mode: 'test' }, stranger)).rejects.toThrow('holds live keys');
  });

  it('are not asked for where they were brought, and shown as they were meant', async () => {
    writeFileSync(join(folder, 'brought'), `${MNEMONIC}\n`);
    const person = new Person();
    await run('init', { import: join(folder, 'brought'), keystore: join(folder, 'imported.json') }, person);
    expect(person.shown).toBe('');
    there(MNEMONIC.replaceAll(' ', '\n '));
    const later = new Person();
    await run('words', {}, later);
    expect(later.words).toBe(MNEMONIC);
  });

  it('are written down for no keystore that cannot be made', async () => {
    const person = new Person();
    await expect(run('init', { keystore: '/nowhere/at/all.json' }, person)).rejects.toThrow('cannot be written');
    expect(person.shown).toBe('');
  });
});
