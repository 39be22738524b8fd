import { LANGUAGES, type Language } from '../../src/console/languages.ts';
import { bracketed, PSEUDO } from './untranslated.ts';

/*
 * Loaded before the service: adds a language in which every word of the console is in brackets.
 */

class Bracketed extends Map<string, string> {
  override get(english: string): string {
    return bracketed(english);
  }
}

const pseudo: Language = { code: PSEUDO, locale: 'en-GB', direction: 'rtl', translation: new Bracketed() };
(LANGUAGES as Language[]).push(pseudo);
