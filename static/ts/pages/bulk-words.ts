/** The titles of a command for several tasks, before it is planned. */
export const titles: Record<string, string> = {
  move: "Move tasks",
  retry: "Retry tasks",
  pause: "Pause tasks",
  resume: "Resume tasks",
  cancel: "Cancel tasks",
};
