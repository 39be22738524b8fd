import { describe, expect, it } from 'vitest';
import { html } from '../../../src/runtime/http/html.ts';
import { ENGLISH, LANGUAGES } from '../../../src/console/languages.ts';
import { time } from '../../../src/console/parts.ts';
import { forScript, words } from '../../../src/console/words.ts';
import { consoleWords, faultsOf } from '../../support/console-words.ts';

const german = new Map([
  ['Refund {0} to {1}', 'An {1} erstatten: {0}'],
  ['None & nothing', 'Nichts'],
  ['the payer', '<Zahler>'],
]);
const whom = (name: string) => words`Refund ${html`<b>${'5 < 6'}</b>`} to ${name === '' ? words`the payer` : name}`;

describe('words', () => {
  it('are English in the code, with their values escaped', () => {
    expect(html`<p>${whom('A & B')}</p>`.text).toBe('<p>Refund <b>5 &lt; 6</b> to A &amp; B</p>');
    expect(
      html`${words`over two
      lines`}`.text,
    ).toBe('over two lines');
  });

  it('are sent in another language, in its order, with the words among their values', () => {
    expect(html`<p>${whom('')}</p>`.htmlIn(german)).toBe('<p>An &lt;Zahler&gt; erstatten: <b>5 &lt; 6</b></p>');
    expect(html`<p title="${words`None & nothing`}">${[words`not translated`]}</p>`.htmlIn(german)).toBe(
      '<p title="Nichts">not translated</p>',
    );
  });

  it('never take a value for a place', () => {
    expect(html`${words`${'{1}'} and ${'$&'}`}`.text).toBe('{1} and $&amp;');
  });

  it('are plain English in records and files', () => {
    expect(String(whom(`O'Neill & Sons`))).toBe(`Refund 5 < 6 to O'Neill & Sons`);
    expect(String(words`As of ${time(0, { zone: 'UTC', language: ENGLISH })}.`)).toBe('As of 1970-01-01 00:00:00 UTC.');
  });

  it('reach a script as JSON whose places it fills', () => {
    expect(html`<form data-words="${forScript({ whom: words`Refund {0} to {1}` })}"></form>`.htmlIn(german)).toBe(
      '<form data-words="{&quot;whom&quot;:&quot;An {1} erstatten: {0}&quot;}"></form>',
    );
  });
});

describe('the sentences of the console', () => {
  const { sentences, bare } = consoleWords();

  it('are all marked as words, so that a translation can replace them', () => {
    expect(sentences.size).toBeGreaterThan(600);
    expect(bare).toEqual([]);
  });

  it.each(LANGUAGES.filter(({ code }) => code !== 'en'))(
    '$code has every sentence, with the same places',
    (language) => {
      expect(faultsOf(language.translation, sentences.keys())).toEqual([]);
    },
  );

  it('a translation that lacks one, has one too many or drops a value is noticed', () => {
    const incomplete = new Map([
      ['Refund {0} to {1}', 'Erstatten: {0}'],
      ['gone', 'weg'],
    ]);
    expect(faultsOf(incomplete, ['Refund {0} to {1}', 'None'])).toEqual([
      'missing: None',
      'nobody says: gone',
      'other places: Refund {0} to {1}',
    ]);
  });
});
