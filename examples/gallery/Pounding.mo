model Pounding "A building hits its neighbour in an earthquake; the law of contact has no values before the contact (DISODE45, example 4)"
  parameter Real c = 2.47e6 "stiffness of the contact";
  parameter Real gap(unit = "m") = 0.005 "distance of the neighbour";
  Real x(start = 0, fixed = true, unit = "m") "displacement";
  Real v(start = 0, fixed = true, unit = "m/s") "velocity";
  Real contact(unit = "N") "force of the contact";
equation
  contact = if x > gap then c*(x - gap)^1.5 + (if v > 0 then 1.98*sqrt(2*c*sqrt(x - gap))*v else 0) else 0;
  der(x) = v;
  2*der(v) = -4.1*v - 210.125*x - contact - 2*sin(14*time);
  annotation(experiment(StopTime = 3, Tolerance = 1e-10));
end Pounding;
