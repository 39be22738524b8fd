/** A refusal of a command as a sentence; commands name a field first, as programs spell it. */
export function asSentence(text: string): string {
  const words = text.replace(/^[a-z]+(?:_[a-z]+)+(?= )/, (name) => name.replaceAll('_', ' '));
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
