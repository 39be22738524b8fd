import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { keyOf } from '../../src/console/words.ts';
import { REPOSITORY } from './repository.ts';
import { SAID } from './untranslated.ts';

const CONSOLE = join(REPOSITORY, 'src/console');

export interface ConsoleWords {
  /** Each sentence of the console, by which translations find it, with the first file that says it. */
  readonly sentences: ReadonlyMap<string, string>;
  /** Text in templates that no translation could replace. */
  readonly bare: readonly string[];
}

/** Reads the templates of the console's sources. */
export function consoleWords(): ConsoleWords {
  const sentences = new Map<string, string>();
  const bare: string[] = [];
  const files = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  for (const file of files.sort()) {
    const path = join(CONSOLE, file);
    const visit = (node: ts.Node): void => {
      if (ts.isTaggedTemplateExpression(node)) {
        const tag = node.tag.getText();
        if (tag === 'words') sentences.set(sentenceOf(node.template), sentences.get(sentenceOf(node.template)) ?? file);
        if (tag === 'html')
          for (const text of bareTextIn(node.template)) bare.push(`${relative(REPOSITORY, path)}: ${text}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true));
  }
  return { sentences, bare };
}

const textsOf = (template: ts.TemplateLiteral): readonly string[] =>
  ts.isNoSubstitutionTemplateLiteral(template)
    ? [template.text]
    : [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)];

const sentenceOf = (template: ts.TemplateLiteral): string => keyOf(textsOf(template));

/** Words between tags and in attributes that are read out, other than the product's name and code. */
function bareTextIn(template: ts.TemplateLiteral): string[] {
  const markup = textsOf(template).join('{}');
  // A template of attributes, such as `aria-current="page"`.
  if (/^(\s*[\w-]+="[^"]*")+\s*$|^\s*(hidden|selected|required|checked|open|data-[\w-]+)\s*$/.test(markup)) return [];
  return markup
    .replaceAll(/<(code|style|script)\b[^>]*>[^<]*<\/\1>/g, '')
    .replaceAll(SAID, '>$1<')
    .split(/<[^>]*>/)
    .map((text) => text.replaceAll(/&\w+;|Quittance|\bUTC\b/g, '').trim())
    .filter((text) => /[A-Za-z]{2,}/.test(text));
}

const placesOf = (sentence: string): string =>
  [...sentence.matchAll(/\{\d+\}/g)]
    .map(([place]) => place)
    .sort()
    .join();

/** What a translation lacks, has beside the sentences, or fills differently. */
export function faultsOf(translation: ReadonlyMap<string, string>, sentences: Iterable<string>): string[] {
  const all = new Set(sentences);
  return [
    ...[...all].filter((sentence) => !translation.has(sentence)).map((sentence) => `missing: ${sentence}`),
    ...[...translation.keys()].filter((sentence) => !all.has(sentence)).map((sentence) => `nobody says: ${sentence}`),
    ...[...translation]
      .filter(([english, other]) => placesOf(english) !== placesOf(other))
      .map(([english]) => `other places: ${english}`),
  ];
}
