// A run's command as it stands in a line: short enough to tell runs apart, the whole of it is in a title.

interface Commanded {
  command?: readonly string[] | undefined;
}

/** The command in one line: a program without the directories before it, no line breaks; undefined where none is known. */
export function shortCommand({ command }: Commanded): string | undefined {
  const [program, ...rest] = command ?? [];
  if (program === undefined) return undefined;
  // a relative path tells one program of a project from another, an absolute one mostly where it is installed
  const base = program.startsWith("/") ? program.slice(program.lastIndexOf("/") + 1) || program : program;
  return [base, ...rest].join(" ").replace(/\s+/g, " ").trim();
}

/** The command as it was given, line breaks and all. */
export function wholeCommand({ command }: Commanded): string | undefined {
  return command && command.length > 0 ? command.join(" ") : undefined;
}
