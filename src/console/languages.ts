import type { Translation } from '../runtime/http/html.ts';

/** A language of the console. What a passkey signs stays in English in all of them. */
export interface Language {
  /** The primary subtag (RFC 5646). */
  readonly code: string;
  /** Writes local times. */
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly translation: Translation;
}

export const ENGLISH: Language = { code: 'en', locale: 'en-GB', direction: 'ltr', translation: new Map() };

/** A reader gets the first of these that the browser asks for, else English. */
export const LANGUAGES: readonly Language[] = [ENGLISH];
