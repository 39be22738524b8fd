import { arabic } from './texts/ar.ts';
import { german } from './texts/de.ts';
import { english, type Texts } from './texts/en.ts';
import { spanish } from './texts/es.ts';
import { french } from './texts/fr.ts';
import { hebrew } from './texts/he.ts';
import { japanese } from './texts/ja.ts';
import { korean } from './texts/ko.ts';
import { portuguese } from './texts/pt.ts';
import { russian } from './texts/ru.ts';
import { turkish } from './texts/tr.ts';
import { vietnamese } from './texts/vi.ts';
import { chinese } from './texts/zh.ts';
import { traditionalChinese } from './texts/zh-hant.ts';
import { preferredLanguage } from '../runtime/http/accept-language.ts';

/** One language of the page. `locale` formats numbers and times; always Latin digits, as wallets show them. */
export interface Language {
  readonly code: string;
  /** Its own name for itself, for the language switch. */
  readonly name: string;
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly texts: Texts;
}

const ENGLISH: Language = { code: 'en', name: 'English', locale: 'en', direction: 'ltr', texts: english };

export const LANGUAGES: readonly Language[] = [
  ENGLISH,
  { code: 'zh', name: '简体中文', locale: 'zh', direction: 'ltr', texts: chinese },
  { code: 'zh-Hant', name: '繁體中文', locale: 'zh-Hant-u-hc-h23', direction: 'ltr', texts: traditionalChinese },
  { code: 'es', name: 'Español', locale: 'es', direction: 'ltr', texts: spanish },
  { code: 'pt', name: 'Português', locale: 'pt', direction: 'ltr', texts: portuguese },
  { code: 'ar', name: 'العربية', locale: 'ar-u-nu-latn', direction: 'rtl', texts: arabic },
  { code: 'fr', name: 'Français', locale: 'fr', direction: 'ltr', texts: french },
  { code: 'tr', name: 'Türkçe', locale: 'tr', direction: 'ltr', texts: turkish },
  { code: 'vi', name: 'Tiếng Việt', locale: 'vi', direction: 'ltr', texts: vietnamese },
  { code: 'ru', name: 'Русский', locale: 'ru', direction: 'ltr', texts: russian },
  { code: 'de', name: 'Deutsch', locale: 'de', direction: 'ltr', texts: german },
  { code: 'ja', name: '日本語', locale: 'ja', direction: 'ltr', texts: japanese },
  { code: 'ko', name: '한국어', locale: 'ko', direction: 'ltr', texts: korean },
  { code: 'he', name: 'עברית', locale: 'he', direction: 'rtl', texts: hebrew },
];

/** The language requested by `?lang=`, else the browser's preferred one of ours, else English. */
export const chooseLanguage = (asked: unknown, acceptLanguage: string | undefined): Language =>
  preferredLanguage(LANGUAGES, acceptLanguage, asked) ?? ENGLISH;
